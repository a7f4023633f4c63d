// Where the page gets its views from: the engine, again and again, or one snapshot.

import { $ } from "./dom.js";

const MAX_PAUSE = 3_000;
let wasLive = false;

// Follows the engine, and comes back to it whenever it was lost.
export async function follow(take, attempt = 0) {
  const again = (next) => setTimeout(() => follow(take, next), next ? Math.min(125 * 2 ** next, MAX_PAUSE) : 0);
  let token;
  try {
    const response = await fetch("/api/websocket_token");
    if (!response.ok) return refused(await response.text());
    token = await response.text();
  } catch {
    lost();
    return again(attempt + 1);
  }
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${location.host}/ws/view?reasons&csrf=${encodeURIComponent(token)}`);
  let isLive = false;
  socket.addEventListener("message", (event) => {
    if (!isLive) $("connection").hidden = true;
    isLive = wasLive = true;
    take(JSON.parse(event.data));
  });
  socket.addEventListener("close", () => {
    lost();
    again(isLive ? 0 : attempt + 1);
  });
}

// A new engine may want another token, which comes with the page.
function refused(why) {
  if (wasLive) return location.reload();
  tell(`The engine refuses this page: ${why.trim()}`);
}

function lost() {
  tell("The connection to the engine is lost; trying again …");
  document.title = `Disconnected ┊ ${$("brand").textContent}`;
}

function tell(text) {
  $("connection").textContent = text;
  $("connection").hidden = false;
}

// Shows one snapshot.
export async function open(id, take) {
  try {
    const response = await fetch(`/api/snapshot/${id}`);
    if (!response.ok) throw new Error(await response.text());
    const snapshot = await response.json();
    if (!snapshot?.view) throw new Error("it has no view");
    take({ ...snapshot.view, reasons: snapshot.reasons, isComplete: true });
    const created = Date.parse(snapshot.createdAt);
    tell(`Snapshot ${created > 0 ? `of ${new Date(created).toLocaleString()}` : "without a time"}, read-only`);
  } catch (error) {
    tell(`The snapshot cannot be shown: ${error.message}`);
  }
}
