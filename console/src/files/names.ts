/**
 * Names of files, which are bytes: the API writes every byte that is no printable ASCII as `\0ooo`, and every backslash.
 * A name whose bytes are UTF-8 is shown as text; of another one the form of the API is shown, with its escapes.
 */
import { plainly } from "../words";

const ESCAPE = /\\0([0-3][0-7]{2})/g;

function bytesOf(escaped: string): Uint8Array {
  const bytes: number[] = [];
  let at = 0;
  for (const found of escaped.matchAll(ESCAPE)) {
    for (; at < found.index; at += 1) bytes.push(escaped.charCodeAt(at));
    bytes.push(Number.parseInt(found[1]!, 8));
    at = found.index + found[0].length;
  }
  for (; at < escaped.length; at += 1) bytes.push(escaped.charCodeAt(at));
  return new Uint8Array(bytes);
}

/** The text that a name is; `undefined`: it is none. */
export function textOf(escaped: string): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytesOf(escaped));
  } catch {
    return undefined;
  }
}

/** As it is shown. */
export const shown = (escaped: string) => plainly(textOf(escaped) ?? escaped);

/** A text as the API has it. */
export function escaped(text: string): string {
  let out = "";
  for (const byte of new TextEncoder().encode(text)) {
    const isPlain = byte > 0x20 && byte < 0x7f && byte !== 0x5c;
    out += isPlain ? String.fromCharCode(byte) : `\\0${byte.toString(8).padStart(3, "0")}`;
  }
  return out;
}

/** The path of what is in a directory. */
export const below = (directory: string, name: string) => `${directory}/${name}`;

/** The directory and the name of a path. */
export function parted(path: string): [string, string] {
  const at = path.lastIndexOf("/");
  return [path.slice(0, at), path.slice(at + 1)];
}

const BITS = "rwxrwxrwx";

/** A mode as `ls -l` writes it. */
export function modeOf(mode: number): string {
  const bits = [...BITS].map((letter, at) => (mode & (1 << (8 - at)) ? letter : "-"));
  const special: [number, number, string, string][] = [[0o4000, 2, "s", "S"], [0o2000, 5, "s", "S"], [0o1000, 8, "t", "T"]];
  for (const [bit, at, set, alone] of special) if (mode & bit) bits[at] = bits[at] === "x" ? set : alone;
  return bits.join("");
}
