// Runs before the first paint, so that a chosen theme does not flash the other one.
(function () {
  try {
    var theme = localStorage.getItem('jackline.theme')
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
  } catch (e) {
    // Storage may be forbidden; the system's theme it is.
  }
})()
