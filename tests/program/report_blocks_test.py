"""JSON reports about the blocks of real runs, and about the kernels' formats of them."""

from program_runner import CLASS_S_NONZEROS, ProgramTest, listed_kernels


class Blocks(ProgramTest):
    def test_row_lengths_of_the_blocks_add_up(self):
        for cvl in (0, 25, 1000):
            with self.subTest(cvl=cvl):
                setup = self.valid_document_of(4, "run", "--class", "S", "--grid", "2x2", "--kernel", "csr-simd", "--cvl", cvl)["setup"]
                lengths, blocks = setup["row_lengths"], [rank["row_lengths"] for rank in setup["ranks"]]
                self.assertEqual({block["critical_vector_length"] for block in [lengths, *blocks]}, {cvl})
                self.assertEqual([block["rows"] for block in blocks], [700] * 4)
                for key in ("rows", "rows_below", "nonzeros_below"):
                    self.assertEqual(lengths[key], sum(block[key] for block in blocks), key)
                self.assertEqual(lengths["minimum"], min(block["minimum"] for block in blocks))
                self.assertEqual(lengths["maximum"], max(block["maximum"] for block in blocks))
                self.assert_close(lengths["mean"], CLASS_S_NONZEROS / 2800, 1e-12)
                for block, rank in zip(blocks, setup["ranks"]):
                    self.assert_close(block["mean"], rank["nonzeros"] / 700, 1e-12)
                if cvl == 0:
                    self.assertEqual((lengths["rows_below"], lengths["nonzeros_below"]), (0, 0))
                elif cvl == 1000:
                    self.assertEqual((lengths["rows_below"], lengths["nonzeros_below"]), (2800, CLASS_S_NONZEROS))
                else:
                    self.assertTrue(0 < lengths["rows_below"] < 2800)

    def test_a_rank_without_rows(self):
        problem = ("--n", "4", "--nonzer", "2", "--niter", "2", "--shift", "5")
        setup = self.valid_document_of(6, "run", *problem, "--grid", "1x6")["setup"]
        empty = [rank["row_lengths"] for rank in setup["ranks"] if rank["row_lengths"]["rows"] == 0]
        self.assertEqual(len(empty), 2)
        for lengths in empty:
            self.assertEqual((lengths["minimum"], lengths["mean"], lengths["maximum"]), (0, 0, 0))
        self.assertEqual(setup["row_lengths"]["rows"], 4)
        self.assertGreaterEqual(setup["row_lengths"]["minimum"], 1)  # the diagonal is never empty

    def test_bytes_before_and_after_the_conversion(self):
        for kernel, converts in listed_kernels().items():
            with self.subTest(kernel=kernel):
                document = self.valid_document_of(4, "run", "--class", "S", "--grid", "2x2", "--kernel", kernel)
                setup, is_half = document["setup"], document["configuration"]["symmetric_storage"]
                self.assertIs(setup["converted"], converts or is_half)
                for rank in setup["ranks"]:
                    self.assertEqual(rank["csr_bytes"], 12 * rank["nonzeros"] + 8 * (700 + 1))
                    share = rank["block_bytes"] / rank["csr_bytes"]
                    if is_half:
                        # The blocks of a small matrix are not halved evenly.
                        self.assertLess(share, 0.75)
                    elif converts:
                        self.assertLess(share, 1)
                    else:
                        self.assertEqual(share, 1)
