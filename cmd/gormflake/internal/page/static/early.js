// What modules are too late for. The choice of colours is made before anything is
// painted: a page that turned dark after it was shown would flash. That there are
// scripts keeps room for what they show.
document.documentElement.dataset.script = 'on';
document.documentElement.toggleAttribute('data-linked', location.hash.length > 1); // on a phone, the answer is first
try {
  const theme = localStorage.getItem('gormflake-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // A browser may forbid storage; the page then follows the system.
}
