// Loads the page again if a part of it could not be loaded: browsers give up on requests when a network of
// this machine comes or goes, as it does whenever Docker makes one.
const PAUSE_MILLIS = 500;

addEventListener('error', (event) => {
  const isNeeded = event.target instanceof HTMLScriptElement || event.target?.rel === 'stylesheet';
  if (isNeeded) setTimeout(() => location.reload(), PAUSE_MILLIS);
}, true);
