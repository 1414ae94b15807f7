// The list of a variable's paths: the same colours as in the picture.

const MOST = 14; // links of a path that are spelled out

function pathList(find, say) {
  const table = find("paths-terms");

  function show(play, unit, isSecret) {
    find("paths").hidden = unit === null;
    find("invitation").hidden = unit !== null;
    if (unit === null) return;
    const { grad, data, count, terms, rest, nodes } = play.units[unit];
    const secret = (text) => (isSecret ? "?" : text);
    const name = ownerOf(play.units[unit]);
    if (!terms) { // of boxes and of nodes that are alike: what is in them
      const key = nodes === 1 ? "unit head one" : "unit head";
      find("paths-head").textContent = say(key, { name, nodes, data: secret(data), gradient: secret(grad) });
      return table.replaceChildren();
    }
    const key = { 0: "path none", 1: "path head one" }[count] ?? "path head";
    find("paths-head").textContent = say(key, { name, gradient: secret(grad), count });
    const rows = terms.map(([product, path, locals, passed], way) => { // these two only of boxes
      const factors = locals ?? path.map((arrow) => play.arrows[arrow][2]);
      const nodes = passed ?? [unit, ...path.map((arrow) => play.arrows[arrow][1])];
      const names = nodes.map((k) => nameOf(play.units[k]));
      const row = rowOf([`${way + 1}`, secret(product), secret(shortened(factors, " · ") || "1"), shortened(names, " → ")]);
      row.dataset.way = way;
      row.cells[0].className = `badge way-${way}`;
      return row;
    });
    if (rest) {
      const more = say(rest[1] === "1" ? "more one" : "more", { count: rest[1] });
      rows.push(rowOf(["", secret(rest[0]), more, ""]));
    }
    table.replaceChildren(...rows);
  }

  function rowOf(texts) {
    const row = document.createElement("tr");
    for (const text of texts) row.insertCell().textContent = text;
    return row;
  }

  function single(way) {
    for (const row of table.rows) row.classList.toggle("is-faint", way !== null && row.dataset.way !== `${way}`);
  }

  return { table, show, single };
}

function shortened(list, between) {
  const end = (MOST - 2) / 2;
  if (list.length <= MOST) return list.join(between);
  return [...list.slice(0, end), `… ${list.length - 2 * end} …`, ...list.slice(-end)].join(between);
}
