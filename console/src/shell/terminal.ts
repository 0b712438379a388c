/**
 * A terminal: xterm, with what it needs to live under our policy.
 *
 * It makes style elements, whose texts are styles inside of the page, which the policy forbids (`style-src 'self'`). While
 * it is put into the page, each of them is a sheet that a script has made instead (`adoptedStyleSheets`), which the policy
 * allows. What it sets of an element's `style` by script is allowed anyhow. It has one way left to break the policy, colours
 * by their red, green and blue, which the shell never sends.
 */
import { FitAddon } from "@xterm/addon-fit";
import { Terminal, type ITheme } from "@xterm/xterm";
import { t } from "../words";

export interface Screen {
  write: (text: string) => void;
  clear: () => void;
  /** Whether keys go to it. */
  listen: (does: boolean) => void;
  focus: () => void;
  size: () => { columns: number; rows: number };
  end: () => void;
}

interface Wishes {
  type: (text: string) => void;
  resize: () => void;
  /** A key says that somebody wants to go on in the page. */
  leave: () => void;
}

/** Lines that are kept above those in sight. */
const LINES = 5000;
const LEAST = { columns: 20, rows: 5 };

function sheet(): HTMLElement {
  const own = new CSSStyleSheet();
  document.adoptedStyleSheets.push(own);
  const element = document.createElement("span");
  element.hidden = true;
  Object.defineProperty(element, "textContent", { get: () => "", set: (text: string) => own.replaceSync(text) });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== own);
    Element.prototype.remove.call(element);
  };
  return element;
}

function openIn(terminal: Terminal, place: HTMLElement) {
  const create = document.createElement.bind(document) as (name: string, options?: ElementCreationOptions) => HTMLElement;
  const instead = (name: string, options?: ElementCreationOptions) => (name === "style" ? sheet() : create(name, options));
  Object.defineProperty(document, "createElement", { configurable: true, value: instead });
  try {
    terminal.open(place);
  } finally {
    // That of all documents is behind it.
    Reflect.deleteProperty(document, "createElement");
  }
}

/** The colours of the page. */
function theme(): ITheme {
  const root = getComputedStyle(document.documentElement);
  const of = (name: string) => root.getPropertyValue(`--${name}`).trim();
  const [text, muted, red, green, yellow, blue] = ["text", "muted", "bad", "good", "warn", "accent"].map(of);
  return {
    background: of("surface"), foreground: text, cursor: blue, cursorAccent: of("surface"), selectionBackground: of("accent"), selectionForeground: of("on-accent"),
    black: text, red, green, yellow, blue, magenta: red, cyan: blue, white: muted,
    brightBlack: muted, brightRed: red, brightGreen: green, brightYellow: yellow, brightBlue: blue, brightMagenta: red, brightCyan: blue, brightWhite: text,
  } as ITheme;
}

/** Shows a terminal in an element, until it is ended. */
export function begin(place: HTMLElement, wishes: Wishes): Screen {
  Terminal.strings.promptLabel = t("Terminal: what is typed goes to the shell. F6 leaves it.");
  Terminal.strings.tooMuchOutput = t("Too much to read out: the lines of the terminal can be read one by one.");
  const terminal = new Terminal({
    scrollback: LINES, fontSize: 13, lineHeight: 1.2, drawBoldTextInBrightColors: false, screenReaderMode: true, theme: theme(),
    fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  openIn(terminal, place);
  terminal.attachCustomKeyEventHandler((event) => {
    // Through the page, as everywhere: back, and on where there is nothing to complete.
    if (event.key === "Tab" && (event.shiftKey || terminal.options.disableStdin)) return false;
    if (event.key !== "F6") return true;
    event.preventDefault();
    if (event.type === "keydown") wishes.leave();
    return false;
  });
  terminal.onData(wishes.type);
  const refit = () => {
    const wanted = fit.proposeDimensions();
    if (wanted) terminal.resize(Math.max(wanted.cols || 0, LEAST.columns), Math.max(wanted.rows || 0, LEAST.rows));
  };
  refit();
  terminal.onResize(wishes.resize);
  const sized = new ResizeObserver(refit);
  sized.observe(place);
  const looks = new MutationObserver(() => { terminal.options.theme = theme(); });
  looks.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return {
    write: (text) => terminal.write(text),
    clear: () => terminal.reset(),
    listen: (does) => { terminal.options.disableStdin = !does; },
    focus: () => terminal.focus(),
    size: () => ({ columns: terminal.cols, rows: terminal.rows }),
    end: () => {
      sized.disconnect();
      looks.disconnect();
      terminal.dispose();
    },
  };
}
