// Elements and the page's data: what every other script builds on.

/** The data that the page carries. */
const data = JSON.parse(document.getElementById("page-data").textContent);

/** Makes an element with attributes and children; a child is a node or a text. */
function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Makes an empty drawing. The browser's own parser knows the namespace of drawings. */
function drawing(attributes) {
  const holder = element("div");
  holder.innerHTML = "<svg></svg>";
  return fill(holder.firstChild, attributes, []);
}

/** Makes an element of the drawing that another one belongs to. */
function drawn(beside, tag, attributes = {}, ...children) {
  return fill(document.createElementNS(beside.namespaceURI, tag), attributes, children);
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Makes a button that does something. */
function button(text, attributes, action) {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

/** A region whose text screen readers say when it changes. */
const spoken = document.body.appendChild(element("p", { class: "spoken", role: "status", "aria-live": "polite" }));

function say(text) {
  spoken.textContent = text;
}
