/**
 * Relations as a picture: on the left who sends here, in the middle the pools of this appliance, on the right where things
 * are sent. It is made of what the table below it says, and screen readers read that.
 *
 * Each arrow has a place of its own at both boxes, so that no two labels lie over each other: a box is as high as it has
 * arrows on its fuller side.
 */
import { lagOf, placeName, toneOfRelation, type Place, type Relation } from "./relations";
import { plainly, t, tn } from "../words";

const [BOX, GAP, PORT, PAD, SPACE] = [150, 290, 44, 16, 20];
/** A label stands over this much of an arrow, which is straight there. */
const LABEL = 210;
/** More arrows than that are no picture. */
const MOST = 24;

type Column = 0 | 1 | 2;

interface Box {
  place: Place;
  column: Column;
  top: number;
  height: number;
  /** Arrows on its right and left side. */
  right: string[];
  left: string[];
}

export interface Arrow {
  relation: Relation;
  from: { x: number; y: number };
  to: { x: number; y: number };
  /** It goes back to the column that it came from. */
  isRound: boolean;
}

export function arranged(relations: Relation[]): { boxes: (Box & { x: number })[]; arrows: Arrow[]; width: number; height: number } {
  const boxes = new Map<string, Box>();
  const box = (place: Place, column: Column): Box => {
    const key = `${column} ${place.id}`;
    const found = boxes.get(key) ?? { place, column, top: 0, height: 0, right: [], left: [] };
    boxes.set(key, found);
    return found;
  };
  const ends = relations.map((relation) => {
    const from = box(relation.from, relation.from.kind === "pool" ? 1 : 0);
    const to = box(relation.to, relation.to.kind === "pool" ? 1 : 2);
    const isRound = from.column === to.column;
    from.right.push(relation.id);
    if (isRound) to.right.push(`to ${relation.id}`);
    else to.left.push(relation.id);
    return { relation, from, to, isRound };
  });
  const bottoms = [0, 0, 0];
  const used = [...boxes.values()];
  for (const one of used) {
    one.height = Math.max(one.right.length, one.left.length, 1) * PORT + PAD;
    one.top = bottoms[one.column]!;
    bottoms[one.column] = one.top + one.height + SPACE;
  }
  const columns = ([0, 1, 2] as Column[]).filter((column) => used.some((one) => one.column === column));
  const x = (column: Column) => columns.indexOf(column) * (BOX + GAP);
  const port = (one: Box, side: string[], id: string) => one.top + one.height / 2 + (side.indexOf(id) - (side.length - 1) / 2) * PORT;
  const arrows = ends.map(({ relation, from, to, isRound }): Arrow => ({
    relation, isRound,
    from: { x: x(from.column) + BOX, y: port(from, from.right, relation.id) },
    to: isRound ? { x: x(to.column) + BOX, y: port(to, to.right, `to ${relation.id}`) } : { x: x(to.column), y: port(to, to.left, relation.id) },
  }));
  const isWide = arrows.some(({ isRound, from }) => isRound && from.x === x(columns.at(-1)!) + BOX);
  return { boxes: used.map((one) => ({ ...one, x: x(one.column) })), arrows, width: columns.length * (BOX + GAP) - (isWide ? 0 : GAP), height: Math.max(...bottoms, SPACE) - SPACE };
}

function pathOf({ from, to, isRound }: Arrow): string {
  const begin = from.x + LABEL;
  const bend = (GAP - LABEL) * 0.7;
  const back = `${begin + bend} ${from.y} ${begin + bend} ${to.y} ${begin} ${to.y} H${to.x + 9}`;
  const on = `${begin + bend} ${from.y} ${to.x - 9 - bend} ${to.y} ${to.x - 9} ${to.y}`;
  return `M${from.x} ${from.y} H${begin} C${isRound ? back : on}`;
}

const headOf = ({ to, isRound }: Arrow) => (isRound ? `M${to.x} ${to.y} l9 -5 v10 z` : `M${to.x} ${to.y} l-9 -5 v10 z`);

const short = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export function RelationMap({ relations }: { relations: Relation[] }) {
  const shown = relations.slice(0, MOST);
  const { boxes, arrows, width, height } = arranged(shown);
  return (
    <figure className="stack tight map" aria-label={t("Map of relations")}>
      <div className="scroll-x">
        <svg viewBox={`-2 -2 ${width + 4} ${height + 4}`} width={width + 4} height={height + 4} aria-hidden="true" focusable="false">
          {arrows.map((arrow) => (
            <g key={arrow.relation.id} className={`arrow ${toneOfRelation(arrow.relation)}`}>
              <path d={pathOf(arrow)} className="shaft" />
              <path d={headOf(arrow)} className="tip" />
              <text x={arrow.from.x + 8} y={arrow.from.y - 20} className="name">{short(plainly(arrow.relation.service), 26)}</text>
              <text x={arrow.from.x + 8} y={arrow.from.y - 6}>{short(lagOf(arrow.relation), 34)}</text>
            </g>
          ))}
          {boxes.map((one) => (
            <g key={`${one.column} ${one.place.id}`} className={`place ${one.place.kind}`}>
              <title>{placeName(one.place)}</title>
              <rect x={one.x} y={one.top} width={BOX} height={one.height} rx={8} />
              <text x={one.x + 12} y={one.top + one.height / 2 - 3} className="name">{short(plainly(one.place.name), 18)}</text>
              <text x={one.x + 12} y={one.top + one.height / 2 + 14}>{one.place.kind === "pool" ? t("pool here") : one.place.kind === "peer" ? t("appliance") : t("host, by SSH")}</text>
            </g>
          ))}
        </svg>
      </div>
      {relations.length > MOST && <figcaption className="muted small">{tn(relations.length - MOST, "{count} more is in the table.", "{count} more are in the table.")}</figcaption>}
    </figure>
  );
}
