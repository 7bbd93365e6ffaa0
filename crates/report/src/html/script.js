// Read-outs. The page is whole without them: they only put figures beside what is drawn already.
(() => {
  const runs = JSON.parse(document.getElementById("data").textContent);
  const plots = [...document.querySelectorAll(".plot")].map((element) => ({
    element,
    run: runs[Number(element.dataset.run)],
    series: JSON.parse(element.dataset.series),
    cursor: null,
    tip: null,
  }));

  const short = (value) => {
    const size = Math.abs(value);
    if (size < 0.005) return "0";
    if (size < 9.995) return String(Number(value.toFixed(2)));
    if (size < 99.95) return String(Number(value.toFixed(1)));
    return Math.round(value).toLocaleString("en");
  };
  const write = {
    number: short,
    percent: (value) => short(value * 100) + " %",
    seconds: (value) => {
      if (value < 5e-7) return "0 s";
      if (value < 9.995e-4) return short(value * 1e6) + " µs";
      if (value < 0.9995) return short(value * 1e3) + " ms";
      return value < 600 ? short(value) + " s" : short(value / 60) + " min";
    },
  };

  const line = (name, value, ink) => {
    const row = document.createElement("div");
    const label = row.appendChild(document.createElement("i"));
    label.textContent = name;
    if (ink) label.className = ink;
    row.appendChild(document.createElement("b")).textContent = value;
    return row;
  };

  const clear = () => {
    for (const plot of plots) {
      plot.cursor?.remove();
      plot.tip?.remove();
      plot.cursor = plot.tip = null;
    }
  };

  // Moves the cursor of every plot to a moment, and shows the figures of the one that is looked at.
  const show = (looked, second) => {
    clear();
    for (const plot of plots) {
      const total = plot.run.points * plot.run.step;
      if (second >= total) continue;
      const index = Math.floor(second / plot.run.step);
      const place = (index + 0.5) / plot.run.points;
      plot.cursor = plot.element.appendChild(document.createElement("div"));
      plot.cursor.className = "cursor";
      plot.cursor.style.left = place * 100 + "%";
      if (plot !== looked) continue;
      const tip = (plot.tip = plot.element.appendChild(document.createElement("div")));
      tip.className = "tip";
      tip.append(line("time", index * plot.run.step + " s"));
      for (const { key, name, ink } of plot.series) {
        const value = plot.run.series[key]?.[index];
        tip.append(line(name, value == null ? "–" : write[plot.element.dataset.unit](value), ink));
      }
      tip.style[place > 0.5 ? "right" : "left"] = `calc(${(place > 0.5 ? 1 - place : place) * 100}% + 9px)`;
    }
  };

  for (const plot of plots) {
    const total = () => plot.run.points * plot.run.step;
    let second = 0;
    plot.element.addEventListener("pointermove", (event) => {
      const box = plot.element.getBoundingClientRect();
      const place = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 0.9999);
      show(plot, (second = place * total()));
    });
    plot.element.addEventListener("pointerleave", clear);
    plot.element.addEventListener("blur", clear);
    plot.element.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
      if (event.key === "Escape") return clear();
      if (!way) return;
      event.preventDefault();
      const next = second + way * plot.run.step;
      show(plot, (second = Math.min(Math.max(next, 0), total() - plot.run.step)));
    });
  }
})();
