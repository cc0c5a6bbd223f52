// Moves through one CG step: a line over the lanes, and each rank's phase on the plane. The data is made by animation.py.
"use strict";

(() => {
  const wholeStepMs = 12000;
  const perChangeMs = 1000; // for readers who want no motion

  function startAnimation(section) {
    const step = JSON.parse(section.querySelector("script").textContent);
    const find = (selector) => section.querySelector(selector);
    const [play, slider, output, line] = [".play", "input", "output", ".now"].map(find);
    const cells = [...section.querySelectorAll(".cell")];
    const wantsNoMotion = window.matchMedia("(prefers-reduced-motion: reduce)");
    const changes = [...new Set(step.lanes.flat().map((bar) => bar[1])), 0, step.length_us].sort((a, b) => a - b);
    let now = 0;
    let timer = null; // of the next frame or change; null: it stands still
    let cancel = null;

    const written = (us) => (us < 100 ? us.toFixed(1) : us.toFixed(0)) + " µs";

    function show(us) {
      now = Math.min(Math.max(us, 0), step.length_us);
      const share = now / step.length_us;
      line.setAttribute("x1", `${100 * share}%`);
      line.setAttribute("x2", `${100 * share}%`);
      slider.value = Math.round(1000 * share);
      output.textContent = `${written(now)} of ${written(step.length_us)}`;
      const doing = step.lanes.map((bars) => bars.find((bar) => bar[1] <= now && now < bar[2]));
      cells.forEach((cell, index) => {
        const phase = doing[index] ? step.phases[doing[index][0]] : { name: "between phases", kind: "none" };
        cell.querySelector(".phase").setAttribute("class", `phase bar ${phase.kind}`);
        cell.querySelector(".doing").textContent = phase.name;
      });
      const counts = step.phases.map((phase, index) => [doing.filter((bar) => bar && bar[0] === index).length, phase.name]);
      const said = counts.filter(([count]) => count > 0).map(([count, name]) => `${name} on ${count} of ${cells.length} ranks`);
      slider.setAttribute("aria-valuetext", [output.textContent, ...said].join(", "));
    }

    function pause() {
      if (timer !== null) cancel(timer);
      timer = null;
      play.textContent = "Play";
    }

    function nextChange() {
      return changes.find((us) => us > now + 1e-9) ?? step.length_us;
    }

    function runSmoothly() {
      let last = performance.now();
      const frame = (time) => {
        show(now + ((time - last) * step.length_us) / wholeStepMs);
        last = time;
        if (now >= step.length_us) return pause();
        timer = requestAnimationFrame(frame);
      };
      cancel = cancelAnimationFrame;
      timer = requestAnimationFrame(frame);
    }

    function runByChanges() {
      const change = () => {
        show(nextChange());
        if (now >= step.length_us) return pause();
        timer = setTimeout(change, perChangeMs);
      };
      cancel = clearTimeout;
      timer = setTimeout(change, perChangeMs);
    }

    play.addEventListener("click", () => {
      if (timer !== null) return pause();
      if (now >= step.length_us) show(0);
      play.textContent = "Pause";
      if (wantsNoMotion.matches) runByChanges();
      else runSmoothly();
    });
    const goTo = (us) => {
      pause();
      show(us);
    };
    find(".on").addEventListener("click", () => goTo(nextChange()));
    find(".back").addEventListener("click", () => goTo(changes.findLast((us) => us < now - 1e-9) ?? 0));
    slider.addEventListener("input", () => goTo((slider.value / 1000) * step.length_us));
    window.addEventListener("beforeprint", pause);
    find(".controls").hidden = false;
    show(0);
  }

  document.querySelectorAll(".animation").forEach(startAnimation);
})();
