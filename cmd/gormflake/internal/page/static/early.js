// What modules are too late for. The choice of colours is made before anything is
// painted: a page that turned dark after it was shown would flash. That there are
// scripts keeps room for what they show. The language is the one that the reader has
// chosen, or the first of the browser's in which the page is written.
{
  const asked = navigator.languages.find((language) => /^(en|zh)\b/.test(language)) ?? 'en';
  document.documentElement.lang = asked.startsWith('zh') ? 'zh-CN' : 'en';
}
document.documentElement.dataset.script = 'on';
document.documentElement.toggleAttribute('data-linked', location.hash.length > 1); // on a phone, the answer is first
try {
  const language = localStorage.getItem('gormflake-language');
  if (language === 'en' || language === 'zh-CN') document.documentElement.lang = language;
  const theme = localStorage.getItem('gormflake-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // A browser may forbid storage; the page then follows the system and the browser.
}
