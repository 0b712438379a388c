/** Light, dark, or as the system has it. */
export type Theme = "system" | "light" | "dark";

const KEY = "cistern-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

/** Storage may be off: then it is as the system has it. */
export function theme(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}

export function showTheme() {
  const chosen = theme();
  document.documentElement.dataset.theme = chosen === "system" ? (dark.matches ? "dark" : "light") : chosen;
}
dark.addEventListener("change", showTheme);

export function setTheme(chosen: Theme) {
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // It holds for this page.
  }
  showTheme();
  if (chosen !== "system") document.documentElement.dataset.theme = chosen;
}
