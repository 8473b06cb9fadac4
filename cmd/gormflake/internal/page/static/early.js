// This script runs before the page is painted, and modules run later. It sets the chosen
// colours, because a page that turned dark after it was shown would flash. It marks the
// document as one with scripts, so that CSS keeps room for their output. It sets the
// language that the reader has chosen, or the first of the browser's that the page has.
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
