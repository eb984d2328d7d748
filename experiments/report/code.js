"use strict";
// Python source as coloured lines, and the difference of two sources. Everything is put in as text.

/** An element with properties and children; a string becomes text, null is left out. */
function el(name, properties, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

const KEYWORDS = new Set(
  ("and as assert async await break class continue def del elif else except finally for from global if import in is " +
    "lambda nonlocal not or pass raise return try while with yield").split(" "));
const CONSTANTS = new Set(["True", "False", "None", "self"]);
const MODULES = new Set(["tl", "triton", "torch", "libdevice"]);
const TOKEN = new RegExp(
  [
    /(?<comment>#[^\n]*)/,
    /(?<string>(?:[rbf]|br|rb|fr|rf|u)?(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?))/,
    /(?<decorator>@[A-Za-z_][\w.]*)/,
    /(?<number>\b(?:0[xob][\da-f_]+|\d[\d_]*\.?[\d_]*(?:e[+-]?\d+)?))/,
    /(?<word>[A-Za-z_]\w*)/,
    /(?<rest>[^\S\n]+|[^])/,
  ].map((part) => part.source).join("|"), "giyu");

/** The lines of a Python source, each a list of [class, text]. */
function linesOf(source) {
  const lines = [[]];
  let before = "";
  for (const found of source.matchAll(TOKEN)) {
    const [kind, text] = Object.entries(found.groups).find(([, value]) => value !== undefined);
    const shown = kind === "word" ? wordKind(text, before, source[found.index + text.length]) : kind;
    text.split("\n").forEach((part, number) => {
      if (number) lines.push([]);
      if (part) lines.at(-1).push([shown, part]);
    });
    if (text.trim()) before = text;
  }
  if (!lines.at(-1).length && lines.length > 1) lines.pop();
  return lines;
}

function wordKind(word, before, after) {
  if (KEYWORDS.has(word) && before !== ".") return "keyword";
  if (before === "def" || before === "class") return "name";
  if (CONSTANTS.has(word)) return "constant";
  if (MODULES.has(word) && before !== ".") return "module";
  return after === "(" ? "call" : "rest";
}

function coloured(tokens) {
  return tokens.map(([kind, text]) => (kind === "rest" ? text : el("span", { className: `t-${kind}` }, text)));
}

/** A source with line numbers; those in `marked` stand out. */
function sourceBlock(source, marked, label) {
  const lines = linesOf(source).map((tokens, number) =>
    el("span", { className: marked.has(number + 1) ? "line marked" : "line" }, coloured(tokens), "\n"));
  return el("pre", { className: "code numbered", tabIndex: 0, role: "region", "aria-label": label }, el("code", {}, lines));
}

/**
 * The difference of two lists of lines: [mark, place in a, place in b], mark one of " ", "-", "+".
 * The longest common subsequence, of what lies between the equal beginning and the equal end.
 */
function differences(a, b) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const n = a.length - head - tail, m = b.length - head - tail;
  const rows = [];
  for (let i = 0; i < head; i++) rows.push([" ", i, i]);
  // of sources too long for a table of all pairs, everything between is shown as replaced
  const table = n * m <= 16e6 ? common(a, b, head, n, m) : null;
  let i = 0, j = 0;
  while (i < n || j < m) {
    if (table && i < n && j < m && a[head + i] === b[head + j]) rows.push([" ", head + i++, head + j++]);
    else if (i < n && (j === m || !table || table[(i + 1) * (m + 1) + j] >= table[i * (m + 1) + j + 1])) rows.push(["-", head + i++, -1]);
    else rows.push(["+", -1, head + j++]);
  }
  for (let t = tail; t > 0; t--) rows.push([" ", a.length - t, b.length - t]);
  return rows;
}

function common(a, b, head, n, m) {
  const table = new Uint16Array((n + 1) * (m + 1));
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      const at = i * (m + 1) + j;
      table[at] = a[head + i] === b[head + j] ? table[at + m + 2] + 1 : Math.max(table[at + m + 1], table[at + 1]);
    }
  }
  return table;
}

const CONTEXT = 3;

/** A unified difference with three lines around each change. */
function diffBlock(before, after, label) {
  const tokens = [linesOf(before), linesOf(after)];
  const [a, b] = tokens.map((lines) => lines.map((line) => line.map((token) => token[1]).join("")));
  const rows = differences(a, b);
  const near = new Uint8Array(rows.length);
  rows.forEach(([mark], at) => {
    if (mark !== " ") near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const shown = [];
  rows.forEach(([mark, i, j], at) => {
    if (!near[at]) return;
    if (!at || !near[at - 1]) shown.push(el("span", { className: "line hunk" }, hunk(rows, near, at), "\n"));
    const kind = { " ": "same", "-": "gone", "+": "new" }[mark];
    shown.push(el("span", { className: `line ${kind}` }, mark, coloured(j < 0 ? tokens[0][i] : tokens[1][j]), "\n"));
  });
  if (!shown.length) return el("p", {}, "No line differs.");
  return el("pre", { className: "code", tabIndex: 0, role: "region", "aria-label": label }, el("code", {}, shown));
}

function hunk(rows, near, start) {
  const past = rows.slice(0, start);
  const end = near.indexOf(0, start);
  const inside = rows.slice(start, end < 0 ? rows.length : end);
  const [gone, fresh] = ["+", "-"].map((other) => {
    const count = inside.filter(([mark]) => mark !== other).length;
    const first = past.filter(([mark]) => mark !== other).length + (count ? 1 : 0);
    return count === 1 ? `${first}` : `${first},${count}`;
  });
  return `@@ -${gone} +${fresh} @@`;
}
