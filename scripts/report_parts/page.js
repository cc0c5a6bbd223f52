// Shows the text of a mark beside the pointer, lets the keyboard go from mark to mark of a picture, and saves pictures. Without it
// the browser shows the same texts, as titles.
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

  // A saved picture is as one of --figures: light, as paper is, with its own rules.
  const rules = document.getElementById("file-rules").textContent;

  function svgOf(chart, title) {
    const { width, height } = chart.viewBox.baseVal;
    const picture = chart.cloneNode(true);
    ["class", "style", "tabindex"].forEach((name) => picture.removeAttribute(name));
    picture.querySelectorAll("[data-tip]").forEach((mark) => {
      mark.innerHTML = "<title></title>" + mark.innerHTML;
      mark.firstChild.textContent = mark.dataset.tip;
      mark.removeAttribute("data-tip");
      mark.classList.remove("chosen");
    });
    picture.setAttribute("viewBox", `-8 -28 ${width + 16} ${height + 36}`);
    const paper = '<rect x="-8" y="-28" width="100%" height="100%" fill="#fff"/>';
    picture.insertAdjacentHTML("afterbegin", `<style>${rules}</style>${paper}<text y="-10" class="value"></text>`);
    picture.querySelector("text").textContent = title;
    picture.prepend(document.querySelector(".patterns defs").cloneNode(true));
    return new XMLSerializer().serializeToString(picture);
  }

  document.querySelectorAll("section").forEach((section) => {
    section.querySelectorAll(".panel").forEach((panel, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "save";
      button.textContent = "Save as SVG";
      button.addEventListener("click", () => {
        const text = svgOf(panel.querySelector(".chart"), panel.querySelector("h3").textContent);
        const file = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
        Object.assign(document.createElement("a"), { href: file, download: `${section.id}-${index + 1}.svg` }).click();
        setTimeout(() => URL.revokeObjectURL(file), 1000);
      });
      panel.append(button);
    });
  });

  // On a narrow screen the contents are closed, so that the results come first.
  if (window.matchMedia("(max-width: 40rem)").matches) document.querySelector("nav details").open = false;
  // Paper has no summary to open.
  window.addEventListener("beforeprint", () => choose(null));
})();
