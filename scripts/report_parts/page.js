// Shows the text of a mark beside the pointer, and lets the keyboard go from mark to mark of a picture. Without it the
// browser shows the same texts, as titles.
"use strict";

(() => {
  const tip = document.getElementById("tip");
  let chosen = null;

  function choose(mark) {
    if (chosen) chosen.classList.remove("chosen");
    chosen = mark;
    if (!mark) return void (tip.hidden = true);
    mark.classList.add("chosen");
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const box = mark.getBoundingClientRect();
    const x = Math.min(box.left + box.width / 2 + 8, document.documentElement.clientWidth - tip.offsetWidth - 6);
    const above = box.top - tip.offsetHeight - 6;
    tip.style.left = `${Math.max(x, 6)}px`;
    tip.style.top = `${above >= 0 ? above : Math.min(box.bottom + 6, window.innerHeight - tip.offsetHeight)}px`;
  }

  document.querySelectorAll(".chart").forEach((chart) => {
    const marks = [...chart.querySelectorAll("title")].map((title) => {
      const mark = title.parentNode;
      mark.dataset.tip = title.textContent;
      title.remove(); // the browser would show it a second time
      return mark;
    });
    chart.addEventListener("pointerover", (event) => choose(event.target.closest("[data-tip]")));
    chart.addEventListener("pointerleave", () => choose(null));
    chart.addEventListener("blur", () => choose(null));
    chart.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
      const last = marks.length - 1;
      if (event.key === "Escape") return choose(null);
      if (!marks.length || !(event.key in steps || event.key === "Home" || event.key === "End")) return;
      event.preventDefault();
      const next = marks.indexOf(chosen) + (steps[event.key] || 0);
      choose(marks[event.key === "Home" ? 0 : event.key === "End" ? last : Math.min(Math.max(next, 0), last)]);
    });
  });
  window.addEventListener("scroll", () => chosen && choose(chosen), { passive: true }); // it goes along

  // On a narrow screen the contents are closed, so that the results come first.
  if (window.matchMedia("(max-width: 40rem)").matches) document.querySelector("nav details").open = false;
  // Paper has no summary to open.
  window.addEventListener("beforeprint", () => choose(null));
})();
