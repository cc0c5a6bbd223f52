// Starts the charts of the page. Their configurations are data, made by paint_page.py; here is what cannot be data.
"use strict";

const cellTexts = {
  id: "cellTexts",
  afterDatasetsDraw(chart) {
    if (!chart.config.options.isHeat) return;
    const context = chart.ctx;
    context.save();
    context.fillStyle = "#111111";
    context.textAlign = "center";
    context.textBaseline = "middle";
    chart.data.datasets.forEach((dataset, index) => {
      chart.getDatasetMeta(index).data.forEach((bar, column) => {
        const lines = dataset.texts[column];
        const longest = Math.max(...lines.map((line) => line.length), 1);
        const size = Math.min(12, (1.7 * bar.width) / longest, (0.8 * bar.height) / lines.length);
        if (size < 6) return;
        context.font = `${size}px sans-serif`;
        lines.forEach((line, k) => {
          const shift = (k - (lines.length - 1) / 2) * size * 1.2;
          context.fillText(line, bar.x, bar.y + bar.height / 2 + shift);
        });
      });
    });
    context.restore();
  },
};

function finishScale(scale) {
  if (scale.ticksAt) {
    scale.afterBuildTicks = (axis) => {
      const inside = (value) => value >= axis.min * (1 - 1e-9) && value <= axis.max * (1 + 1e-9);
      const shown = scale.type === "logarithmic" ? scale.ticksAt.filter(inside) : scale.ticksAt;
      axis.ticks = shown.map((value) => ({ value }));
    };
  }
  const label = (value, index) => (scale.names ? scale.names[index] : String(Number(Number(value).toPrecision(3))));
  if (scale.type === "logarithmic" && !scale.ticksAt) {
    const isWide = scale.max / scale.min > 300;
    scale.ticks = {
      autoSkipPadding: 12,
      callback: (value) => {
        const digit = Number(value.toExponential(2).split("e")[0]);
        const text = value >= 1e-3 && value < 1e6 ? String(Number(value.toPrecision(3))) : value.toExponential(0);
        return (isWide ? [1] : [1, 2, 3, 5]).includes(digit) ? text : null;
      },
    };
  } else if (scale.type !== "category" && scale.type) {
    scale.ticks = { autoSkip: !scale.ticksAt || scale.ticksAt.length > 20, callback: label };
  }
}

function startChart(figure) {
  const chart = JSON.parse(figure.querySelector("script").textContent);
  Object.values(chart.options.scales).forEach(finishScale);
  Object.assign(chart.options, {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    interaction: { mode: "nearest", intersect: true },
    plugins: {
      legend: {
        display: chart.options.hasLegend,
        position: "bottom",
        labels: {
          usePointStyle: chart.type === "line",
          boxWidth: chart.type === "line" ? 8 : 14,
          boxHeight: 8,
          filter: (item, data) => !data.datasets[item.datasetIndex].isUnnamed,
        },
      },
      tooltip: {
        filter: (item) => Boolean(item.dataset.tips[item.dataIndex]),
        callbacks: { title: () => "", label: (item) => item.dataset.tips[item.dataIndex].split("\n") },
      },
    },
  });
  chart.plugins = [cellTexts];
  return new Chart(figure.querySelector("canvas"), chart);
}

Chart.defaults.font.size = 12;
Chart.defaults.color = "#333333";
const charts = [...document.querySelectorAll(".chart")].map(startChart);
// Paper is narrower than most windows, and charts must be told before it is laid out. Widths of A4 in CSS pixels.
window.addEventListener("beforeprint", () => {
  charts.forEach((chart) => {
    const isSingle = chart.canvas.closest(".panels").classList.contains("single");
    chart.resize(isSingle ? 680 : 335, (chart.config.options.isHeat ? 1 : 0.75) * chart.height);
  });
});
window.addEventListener("afterprint", () => charts.forEach((chart) => chart.resize()));
