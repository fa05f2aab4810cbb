// what the theme leaves without a name for screen readers
document.querySelector('.md-search')?.setAttribute('aria-label', 'Search');
