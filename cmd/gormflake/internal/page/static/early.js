// The choice of colours, before anything is painted: modules run later than
// that, and a page that turned dark after it was shown would flash.
try {
  const theme = localStorage.getItem('gormflake-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // A browser may forbid storage; the page then follows the system.
}
