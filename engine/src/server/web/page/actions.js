// What people ask the engine to do.

import { $, element, remember, remembered } from "./dom.js";

const TRIGGERED_BY_PAGE = 16;
const AUTO = 0;
const MANUAL = 2;
let noticeTimer;

// Tells something for a few seconds.
export function notify(text, isBad = false) {
  $("notice").textContent = text.trim();
  $("notice").classList.toggle("bad", isBad);
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => ($("notice").textContent = ""), isBad ? 10_000 : 4_000);
}

async function send(path, options) {
  try {
    const response = await fetch(path, options);
    const text = await response.text();
    if (!response.ok && response.status !== 409) notify(text || `${response.status}`, true);
    return { status: response.status, text };
  } catch (error) {
    notify(`Not sent: ${error.message}`, true);
    return { status: 0, text: "" };
  }
}

// Asks for an update.
export async function trigger(name) {
  const body = JSON.stringify({ manifest_names: [name], build_reason: TRIGGERED_BY_PAGE });
  const { status, text } = await send("/api/trigger", { method: "POST", body });
  // Whatever the answer says is the reason why nothing was done.
  if (status === 200) notify(text || `Update of ${name} requested`, Boolean(text));
}

// Changes whether a resource is updated by itself.
export async function setManual(name, isManual) {
  const body = JSON.stringify({ manifest_names: [name], trigger_mode: isManual ? MANUAL : AUTO });
  const { status } = await send("/api/override/trigger_mode", { method: "POST", body });
  if (status === 200) notify(isManual ? `${name} is updated only on request` : `${name} is updated by itself`);
}

// Presses a button of the user, which may have to be confirmed or to be given values.
export async function press(button, project) {
  const inputs = (button.spec.inputs ?? []).filter((it) => !it.hidden);
  const title = button.spec.text || button.metadata.name;
  let values = {};
  if (inputs.length || button.spec.requiresConfirmation) {
    const key = `apibutton-${button.metadata.name}`;
    const fields = inputs.map((it) => field(it, remembered(project, key)?.[it.name]));
    if (!(await confirm(title, fields))) return;
    values = Object.fromEntries(inputs.map((it, index) => [it.name, valueOf(fields[index])]));
    if (inputs.length) remember(project, key, values);
  }
  if (await click(button, values)) notify(`Pressed ${title}`);
}

// Asks in a dialog; says whether the answer was yes.
async function confirm(title, fields) {
  const dialog = $("ask");
  dialog.querySelector("h2").textContent = title;
  dialog.querySelector(".fields").replaceChildren(...fields);
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((closed) => dialog.addEventListener("close", closed, { once: true }));
  return dialog.returnValue === "ok";
}

// A control for an input, with what was entered last time.
function field(input, last) {
  const label = element("label", "", input.label || input.name);
  const control = element(input.choice ? "select" : "input");
  if (input.choice) {
    const choices = input.choice.choices ?? [];
    control.append(...choices.map((it) => new Option(it, it)));
    if (choices.includes(last)) control.value = last;
  } else if (input.bool) {
    control.type = "checkbox";
    control.checked = typeof last === "boolean" ? last : Boolean(input.bool.defaultValue);
  } else {
    control.value = typeof last === "string" ? last : (input.text?.defaultValue ?? "");
    control.placeholder = input.text?.placeholder ?? "";
  }
  label.append(control);
  return label;
}

function valueOf(label) {
  const control = label.querySelector("input, select");
  return control.type === "checkbox" ? control.checked : control.value;
}

// The part of a button's status that tells one value.
function inputStatus({ name, hidden, bool, choice }, value) {
  if (hidden) return { name, hidden: { value: hidden.value } };
  if (bool) return { name, bool: { value: Boolean(value) } };
  return { name, [choice ? "choice" : "text"]: { value: value ?? "" } };
}

// A click is a write to the button's status. Who writes to an old version reads the new one and tries again.
export async function click(button, values = {}) {
  const path = `/proxy/apis/tilt.dev/v1alpha1/uibuttons/${encodeURIComponent(button.metadata.name)}`;
  const inputs = (button.spec.inputs ?? []).map((it) => inputStatus(it, values[it.name]));
  for (let attempt = 0; attempt < 5; attempt++) {
    const status = { ...button.status, lastClickedAt: new Date().toISOString().replace("Z", "000Z"), inputs };
    const body = JSON.stringify({ apiVersion: "tilt.dev/v1alpha1", kind: "UIButton", ...button, status });
    const headers = { "Content-Type": "application/json" };
    const answer = await send(`${path}/status`, { method: "PUT", headers, body });
    if (answer.status !== 409) return answer.status === 200;
    const fresh = await send(path, {});
    if (fresh.status !== 200) return false;
    button = JSON.parse(fresh.text);
  }
  notify("The button changes too often.", true);
  return false;
}
