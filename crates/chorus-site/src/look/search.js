// The search field: pieces of pages that have all words, those with the words in their headings first.

const bar = document.querySelector(".bar");
const root = bar.dataset.root;
const RESULTS_MAX = 30;
const EXCERPT = 90;

/** The index, loaded when it is needed first. A page from disk may load a script, but no other file. */
let loading;
function loadIndex() {
  loading ??= new Promise((done, failed) => {
    const script = element("script", { src: `${root}search-index.js` });
    script.addEventListener("load", () => done(lowered(globalThis.chorusPages)));
    script.addEventListener("error", failed);
    document.head.append(script);
  });
  return loading;
}

/** Every piece with its texts in lower case, too. */
function lowered(pages) {
  return pages.flatMap(([path, title, sections]) =>
    sections.map(([anchor, heading, text]) => {
      const url = root + path + (anchor ? `#${anchor}` : "");
      const [inTitle, inHeading, inText] = [title, heading, text].map((it) => it.toLowerCase());
      return { url, title, heading, text, inTitle, inHeading, inText };
    }),
  );
}

/** How well a piece answers; 0 where a word is missing. Whole headings count most. */
function score(piece, words) {
  const all = words.join(" ");
  let sum = piece.inHeading === all ? 100 : 0;
  sum += piece.inTitle === all ? 40 : 0;
  for (const word of words) {
    const here = (piece.inHeading.includes(word) ? 12 : 0) + (piece.inText.includes(word) ? 1 : 0);
    const onPage = piece.inTitle.includes(word) ? 5 : 0;
    if (here + onPage === 0) return 0;
    sum += here + onPage;
  }
  return words.some((word) => piece.inHeading.includes(word) || piece.inText.includes(word)) ? sum : 0;
}

/** Text with the words marked. */
function marked(text, words) {
  const out = document.createDocumentFragment();
  const lower = text.toLowerCase();
  let at = 0;
  while (at < text.length) {
    const next = words.map((word) => [lower.indexOf(word, at), word.length]).filter(([found]) => found >= 0);
    const [found, length] = next.sort((a, b) => a[0] - b[0])[0] ?? [text.length, 0];
    out.append(text.slice(at, found));
    if (length > 0) out.append(element("mark", {}, text.slice(found, found + length)));
    at = found + Math.max(length, 1);
  }
  return out;
}

/** The text around the first word. */
function excerpt(piece, words) {
  const places = words.map((word) => piece.inText.indexOf(word)).filter((at) => at >= 0);
  const first = Math.max(0, Math.min(...(places.length > 0 ? places : [0])) - EXCERPT / 2);
  const start = first === 0 ? 0 : piece.text.indexOf(" ", first) + 1;
  const text = piece.text.slice(start, start + 2 * EXCERPT).trim();
  return `${start > 0 ? "… " : ""}${text}${start + 2 * EXCERPT < piece.text.length ? " …" : ""}`;
}

function result(piece, words) {
  const name = element("b", {}, piece.title);
  const link = element("a", { href: piece.url }, name);
  if (piece.heading && piece.heading !== piece.title) link.append(" › ", marked(piece.heading, words));
  link.append(element("p", {}, marked(excerpt(piece, words), words)));
  link.addEventListener("click", close);
  return element("li", {}, link);
}

const field = element("input", { type: "search", placeholder: "Search ( / )", "aria-label": "Search the documentation" });
const list = element("ol", { class: "found", hidden: "" });
bar.append(element("div", { class: "find", role: "search" }, field, list));

function close() {
  list.hidden = true;
}

async function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return close();
  let pieces;
  try {
    pieces = await loadIndex();
  } catch {
    list.replaceChildren(element("li", {}, "The index of the site is missing: search-index.js"));
    list.hidden = false;
    return;
  }
  // The reader may have typed on meanwhile.
  if (words.join(" ") !== field.value.toLowerCase().split(/\s+/).filter(Boolean).join(" ")) return;
  const scored = pieces.map((piece) => [score(piece, words), piece]).filter(([points]) => points > 0);
  scored.sort((a, b) => b[0] - a[0]);
  const shown = scored.slice(0, RESULTS_MAX).map(([, piece]) => result(piece, words));
  list.replaceChildren(...(shown.length > 0 ? shown : [element("li", {}, "Nothing has all of these words.")]));
  list.hidden = false;
  say(`${scored.length} results`);
}

field.addEventListener("input", search);
field.addEventListener("focus", () => loadIndex().catch(close));
addEventListener("keydown", (event) => {
  const links = [...list.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "/" && !event.target.closest("input, select, textarea")) {
    event.preventDefault();
    field.focus();
  } else if (event.key === "Escape" && !list.hidden) {
    close();
    field.focus();
  } else if (event.key === "Enter" && document.activeElement === field && links.length > 0) {
    links[0].click();
  } else if (["ArrowDown", "ArrowUp"].includes(event.key) && bar.contains(document.activeElement)) {
    const next = links[at + (event.key === "ArrowDown" ? 1 : -1)];
    event.preventDefault();
    (next ?? field).focus();
  }
});
addEventListener("click", (event) => {
  if (!bar.contains(event.target)) close();
});

// The contents show where the reader is.
const contents = document.querySelector(".book");
const here = contents.querySelector("[aria-current]");
if (here) contents.scrollTop = here.offsetTop - contents.clientHeight / 2;
