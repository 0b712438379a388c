/**
 * Amounts as people type them, and back: a value that is read and not touched is written as it was.
 * `undefined` is said of a text that is no amount; `null` of an empty one, which says that there is none.
 */
import { bytesOf } from "../words";

const UNITS: [string, number][] = [["y", 31_536_000], ["w", 604_800], ["d", 86_400], ["h", 3600], ["m", 60], ["s", 1]];
const SIZES = ["", "K", "M", "G", "T", "P", "E"];

/** Seconds of `30d`, `12h`, `90s`. */
export function secondsOf(text: string): number | undefined {
  const found = /^\s*(\d+)\s*([a-z]?)\s*$/i.exec(text);
  const unit = UNITS.find(([name]) => name === (found?.[2] || "s").toLowerCase());
  const seconds = Number(found?.[1]) * (unit?.[1] ?? Number.NaN);
  return Number.isSafeInteger(seconds) && seconds > 0 ? seconds : undefined;
}

/** In the greatest unit that loses nothing. */
export function lasting(seconds: number): string {
  const [name, unit] = UNITS.find(([, size]) => seconds % size === 0)!;
  return `${seconds / unit}${name}`;
}

/** In the greatest unit of 1024 that loses nothing. */
export function sized(bytes: number): string {
  let at = 0;
  let value = bytes;
  while (value > 0 && value % 1024 === 0 && at < SIZES.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${value}${SIZES[at]}`;
}

export const wholeOf = (text: string): number | undefined => (/^\s*\d{1,15}\s*$/.test(text) ? Number(text) : undefined);

const orNone = <T>(text: string, of: (text: string) => T | undefined): T | null | undefined => (text.trim() === "" ? null : of(text));
export const secondsOrNone = (text: string) => orNone(text, secondsOf);
export const bytesOrNone = (text: string) => orNone(text, bytesOf);
export const wholeOrNone = (text: string) => orNone(text, wholeOf);

/** `null` is an empty text. */
export const textOf = (value: number | null | undefined, of: (value: number) => string): string => (value == null ? "" : of(value));

/** Minutes of the day of `22:00`. */
export function minutesOf(text: string): number | undefined {
  const found = /^\s*(\d{1,2}):(\d{2})\s*$/.exec(text);
  const [hour, minute] = [Number(found?.[1]), Number(found?.[2])];
  return found && hour < 24 && minute < 60 ? hour * 60 + minute : undefined;
}

export const clockOf = (minutes: number) => `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;

export interface Window {
  from: number;
  until: number;
}

/** Hours of the day, as `22:00-06:00`. */
export function windowOf(text: string): Window | undefined {
  const [from, until, more] = text.split("-").map(minutesOf);
  return from !== undefined && until !== undefined && more === undefined ? { from, until } : undefined;
}

export const hoursOf = ({ from, until }: Window) => `${clockOf(from)}-${clockOf(until)}`;

/** One a line. */
export const linesOf = (text: string) => text.split("\n").map((line) => line.trim()).filter(Boolean);
