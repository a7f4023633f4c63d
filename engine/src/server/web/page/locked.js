// The page of those who may not see anything: it says how to get in, and notices those who may after all.
const PAUSE_MILLIS = 10_000;
const KEY = "let-in";

document.getElementById("used").hidden = !new URLSearchParams(location.search).has("key");

// Browsers do not show their cookie when a link of another site leads here, but they do when the page itself asks.
async function tryAgain() {
  const last = Number(sessionStorage.getItem(KEY));
  const response = await fetch("/api/websocket_token");
  if (!response.ok || Date.now() - last < PAUSE_MILLIS) return;
  sessionStorage.setItem(KEY, String(Date.now()));
  location.replace(location.href);
}

tryAgain().catch(() => {});
