// Light and dark: the page follows the system until its reader chooses.

const THEMES = ["light", "dark"];

/** The reader's choice. A page from disk may have no storage; then the choice lasts as long as the page. */
function storedTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

function storeTheme(theme) {
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // The choice is not kept.
  }
}

function currentTheme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function setUpTheme() {
  const stored = storedTheme();
  if (THEMES.includes(stored)) document.documentElement.dataset.theme = stored;
  const toggle = button("", { class: "theme" }, () => {
    const theme = currentTheme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    storeTheme(theme);
    label();
  });
  const label = () => {
    toggle.textContent = currentTheme() === "dark" ? "☀ light" : "☾ dark";
    toggle.setAttribute("aria-label", `Use ${currentTheme() === "dark" ? "light" : "dark"} colours`);
  };
  label();
  document.body.prepend(toggle);
}

setUpTheme();
