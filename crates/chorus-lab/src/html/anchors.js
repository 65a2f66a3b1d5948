// Headings with a link to themselves, which a reader copies to point others at them.

for (const heading of document.querySelectorAll("h2[id], h3[id]")) {
  const label = `Link to ${heading.textContent}`;
  heading.append(element("a", { class: "anchor", href: `#${heading.id}`, "aria-label": label }, "#"));
}
