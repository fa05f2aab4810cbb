// what the theme leaves without a name for screen readers
document.querySelector('.md-search')?.setAttribute('aria-label', 'Search');
for (const code of document.querySelectorAll('pre > code')) code.tabIndex = 0; // long lines can be scrolled by keyboard
