// Which of its two languages a page shows: the browser's, or the other by the button.
const root = document.documentElement;
const byId = (id) => document.getElementById(id);

function showLanguage(language) {
  root.dataset.language = language;
  root.lang = language;
}
showLanguage(navigator.language.startsWith("ja") ? "ja" : "en");
byId("language").hidden = false;
byId("language").addEventListener("click", () => showLanguage(root.dataset.language === "ja" ? "en" : "ja"));
