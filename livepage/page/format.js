"use strict";

// The parts of this script follow each other in the order of handler.go. Names are inserted
// as text, never as HTML; no code here builds HTML from strings.

// Elements.

const at = id => document.getElementById(id);

function make(name, text, kind = "", children = []) {
  const e = document.createElement(name);
  e.textContent = text;
  if (kind) e.className = kind;
  e.append(...children);
  return e;
}

function el(name, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  e.append(...children);
  return e;
}

// Figures for people.

const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat("en");
const rate = r => r === null ? "–" : short.format(r);

function seconds(s) {
  if (s === 0) return "0 s";
  for (const [unit, size] of [["h", 3600], ["min", 60], ["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) {
    if (s >= size) return `${short.format(s / size)} ${unit}`;
  }
  return `${short.format(s * 1e9)} ns`;
}

// age formats the age of the oldest value; "–" means that nothing is queued.
const age = (c, s = c.oldestValue ?? c.oldestBound) => s > 0 ? c.oldestSign + seconds(s) : c.oldestSign || "–";

function bytes(n) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (n >= size) return `${short.format(n / size)} ${unit}`;
  }
  return `${n} B`;
}

// fill is the used part of the capacity, or the number of values if there is no limit.
const fill = c => c.cap ? c.len / c.cap : c.len;
// heat is the class of a channel that fills up.
const heat = part => part >= 1 ? "full" : part >= 0.8 ? "near" : "";
// count writes a number of values, which is exact up to 99999: one free slot counts.
const count = n => n < 100000 ? String(n) : short.format(n);
const fillWords = c => c.cap === null ? `${count(c.len)} queued` : c.cap === 0 ? "unbuffered" : `${count(c.len)} of ${count(c.cap)}`;
const kindWords = c => c.kind + (c.kind === "Sharded" ? `, ${plural(c.lanes, "lane")}` : "") + (c.closed ? ", closed" : "");
const plural = (n, noun) => `${short.format(n)} ${noun}${n === 1 ? "" : "s"}`;

// cut shortens a name, mostly at its end, cutFront at its beginning.
const cut = (name, most) => name.length <= most ? name : `${name.slice(0, Math.ceil(most * 3 / 4) - 1)}…${name.slice(-Math.floor(most / 4))}`;
const cutFront = (name, most) => name.length <= most ? name : `…${name.slice(1 - most)}`;
// stageName shortens the name of a function to what tells stages apart: its last parts, and the
// line of a closure. "main.(*Server).run (server.go:42)" becomes "Server.run:42".
function stageName(name, most) {
  if (name.length <= most) return name;
  const [, whole, place = ""] = /^(.*?)( \(.*)?$/.exec(name), tail = cut(place.replace(/ \([^()]*\.go(:\d+)\)/, "$1"), Math.ceil(most / 2));
  const parts = whole.replace(/\[\.\.\.\]|[(*)]/g, "").split(".");
  while (parts.length > 1 && parts.join(".").length + tail.length > most) parts.shift();
  return cutFront(parts.join("."), most - tail.length) + tail;
}
