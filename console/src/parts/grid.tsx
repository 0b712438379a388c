/**
 * A table of any length: only the rows in sight are in the page.
 *
 * It is a grid of ARIA with one stop for the Tab key. Arrow keys, Page Up and Down, Home and End move a mark from row to
 * row, Enter opens the row, Space selects it, and in a tree the right and left arrows open and close it. The screen reader
 * follows the mark by `aria-activedescendant`, and hears how many rows there are though few are in the page.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { t, tn } from "../words";

export interface Column<R> {
  id: string;
  name: string;
  /** As in `grid-template-columns`. */
  width: string;
  isNumber?: boolean;
  show: (row: R) => ReactNode;
  /** Sorts by it. */
  order?: (a: R, b: R) => number;
}

interface Tree<R> {
  level: (row: R) => number;
  isOpen: (row: R) => boolean | undefined;
  toggle: (row: R) => void;
}

interface GridProps<R> {
  label: string;
  rows: R[];
  columns: Column<R>[];
  keyOf: (row: R) => string;
  onOpen?: (row: R) => void;
  tree?: Tree<R>;
  selected?: ReadonlySet<string>;
  onSelect?: (keys: Set<string>) => void;
  /** More rows follow than are there yet. */
  hasMore?: boolean;
  /** Called when the last rows are in sight. */
  onEnd?: () => void;
  /** Pixels below which it is scrolled sideways. */
  least?: number;
  empty: ReactNode;
}

const ROW = 34;

export function Grid<R>(props: GridProps<R>) {
  const { label, columns, keyOf, onOpen, tree, selected, onSelect, hasMore, onEnd, least = 560, empty } = props;
  const [order, setOrder] = useState<{ id: string; isDown: boolean }>();
  const [here, setHere] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const column = columns.find((one) => one.id === order?.id && one.order);
  const rows = column ? props.rows.toSorted((a, b) => column.order!(a, b) * (order!.isDown ? -1 : 1)) : props.rows;
  const count = rows.length;
  const at = Math.min(here, Math.max(0, count - 1));
  const lines = useVirtualizer({
    count, getScrollElement: () => box.current, estimateSize: () => ROW, overscan: 12, scrollPaddingStart: ROW, scrollMargin: 0,
    getItemKey: (index) => keyOf(rows[index]!),
    // The page has none before it is drawn.
    initialRect: { width: 800, height: 600 },
  });
  const shown = lines.getVirtualItems();
  const lastShown = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && lastShown >= count - 40) onEnd?.();
  }, [hasMore, lastShown, count, onEnd]);
  // The row that is marked has to be in the page while the grid has the focus.
  const isMarked = shown.some(({ index }) => index === at);

  const template = `${onSelect ? "38px " : ""}${columns.map(({ width }) => width).join(" ")}`;
  const go = (to: number) => {
    const next = Math.max(0, Math.min(count - 1, to));
    setHere(next);
    lines.scrollToIndex(next, { align: "auto" });
  };
  const select = (row: R) => {
    if (!onSelect) return;
    const next = new Set(selected);
    const key = keyOf(row);
    if (!next.delete(key)) next.add(key);
    onSelect(next);
  };
  const press = (event: KeyboardEvent) => {
    if (event.target !== box.current || event.altKey || event.metaKey) return;
    const row = rows[at];
    const page = Math.max(1, Math.floor((box.current!.clientHeight - ROW) / ROW) - 1);
    const steps: Record<string, () => void> = {
      ArrowDown: () => go(at + 1), ArrowUp: () => go(at - 1), PageDown: () => go(at + page), PageUp: () => go(at - page),
      Home: () => go(0), End: () => go(count - 1),
      Enter: () => row && onOpen?.(row),
      " ": () => row && (onSelect ? select(row) : onOpen?.(row)),
      ArrowRight: () => row && tree?.isOpen(row) === false && tree.toggle(row),
      ArrowLeft: () => {
        if (!row || !tree) return;
        if (tree.isOpen(row)) tree.toggle(row);
        else for (let up = at - 1; up >= 0; up -= 1) if (tree.level(rows[up]!) < tree.level(row)) return go(up);
      },
      a: () => event.ctrlKey && onSelect?.(new Set(rows.map(keyOf))),
    };
    const step = steps[event.key];
    if (!step || (event.ctrlKey && event.key !== "a")) return;
    event.preventDefault();
    step();
  };
  if (count === 0 && !hasMore) return <div className="card empty">{empty}</div>;
  return (
    <>
      <div
        ref={box} className={`grid ${count < 12 && !hasMore ? "short" : ""}`} role={tree ? "treegrid" : "grid"} aria-label={label} tabIndex={0} onKeyDown={press}
        aria-rowcount={hasMore ? -1 : count + 1} aria-colcount={columns.length + (onSelect ? 1 : 0)} aria-multiselectable={onSelect ? true : undefined}
        aria-activedescendant={isMarked ? `${id}-${at}` : undefined} style={{ "--grid-width": `${least}px` } as object}
      >
        <div role="rowgroup">
          <div role="row" aria-rowindex={1} className="heads" style={{ gridTemplateColumns: template }}>
            {onSelect && <span role="columnheader"><span className="hidden">{t("Selected")}</span></span>}
            {columns.map((one) => {
              const isBy = order?.id === one.id;
              const sort = () => setOrder(isBy && order.isDown ? undefined : { id: one.id, isDown: isBy });
              return (
                <span key={one.id} role="columnheader" className={one.isNumber ? "number" : ""} aria-sort={isBy ? (order.isDown ? "descending" : "ascending") : undefined}>
                  {one.order ? <button type="button" onClick={sort}>{one.name}{isBy ? (order.isDown ? " ▾" : " ▴") : ""}</button> : one.name}
                </span>
              );
            })}
          </div>
        </div>
        <div role="rowgroup" className="lines" style={{ height: lines.getTotalSize() }}>
          {shown.map(({ index, key, start }) => {
            const row = rows[index]!;
            const isOpen = tree?.isOpen(row);
            return (
              <div
                key={key} id={`${id}-${index}`} role="row" aria-rowindex={index + 2} className={`line ${index === at ? "here" : ""}`}
                aria-selected={onSelect ? selected!.has(keyOf(row)) : undefined} aria-level={tree && tree.level(row) + 1} aria-expanded={isOpen}
                style={{ gridTemplateColumns: template, transform: `translateY(${start}px)` }}
                onClick={() => setHere(index)} onDoubleClick={() => onOpen?.(row)}
              >
                {onSelect && <span role="gridcell" className="mark-cell" onClick={() => select(row)}><span className="tick" aria-hidden="true" /></span>}
                {columns.map((one, place) => (
                  <span key={one.id} role="gridcell" className={one.isNumber ? "number" : ""}>
                    {place === 0 && tree && (
                      <span className="twist" aria-hidden="true" style={{ marginLeft: tree.level(row) * 16 }} onClick={() => isOpen !== undefined && tree.toggle(row)}>
                        {isOpen === undefined ? "" : isOpen ? "▾" : "▸"}
                      </span>
                    )}
                    {one.show(row)}
                  </span>
                ))}
              </div>
            );
          })}
        </div>
      </div>
      <p className="muted small" role="status">
        {hasMore ? t("{count} read so far; more come as you scroll.", { count }) : tn(count, "{count} row", "{count} rows")}
        {selected && selected.size > 0 ? ` · ${tn(selected.size, "{count} selected", "{count} selected")}` : ""}
      </p>
    </>
  );
}

/** Orders by a text, as people do. */
const collator = new Intl.Collator("en", { numeric: true });
export const byText = <R,>(of: (row: R) => string) => (a: R, b: R) => collator.compare(of(a), of(b));
export const byNumber = <R,>(of: (row: R) => number) => (a: R, b: R) => of(a) - of(b);
