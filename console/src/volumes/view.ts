/**
 * How a volume is served by iSCSI: what its property `cistern:iscsi` says, as a form has it.
 *
 * Invariant: secrets are not shown, and one that nobody touched stays: the engine's own text of it is sent back.
 */
import { linesOf } from "../parts/amounts";

export const PROPERTY = "cistern:iscsi";
/** What stands for a secret where it is shown. */
const HIDDEN = "********";

export interface View {
  isServed: boolean;
  /** Empty: one of the volume's own. */
  target: string;
  lun: string;
  /** One a line; none: everybody. */
  initiators: string;
  groups: string;
  user: string;
  /** Empty: as it was. */
  secret: string;
  mutualUser: string;
  mutualSecret: string;
  hadSecret: boolean;
  hadMutual: boolean;
}

const named = (options: [string, string][], name: string) => options.filter(([one]) => one === name).map(([, value]) => value);

function optionsOf(value: string): [string, string][] {
  return value.split(",").filter((option) => option.includes("=")).map((option) => {
    const at = option.indexOf("=");
    return [option.slice(0, at), option.slice(at + 1)];
  });
}

export function viewOf(value: string): View {
  const options = optionsOf(value);
  const first = (name: string) => named(options, name)[0] ?? "";
  return {
    isServed: !["", "-", "off"].includes(value), target: first("target"), lun: first("lun"), initiators: named(options, "initiator").join("\n"), groups: named(options, "group").join(", "),
    user: first("user"), secret: "", mutualUser: first("mutual_user"), mutualSecret: "", hadSecret: first("user") !== "", hadMutual: first("mutual_user") !== "",
  };
}

/** The lowest number that none of a target's other volumes has. */
export function freeLun(values: string[], target: string): number {
  const taken = values.map(optionsOf).filter((options) => named(options, "target")[0] === target).map((options) => Number(named(options, "lun")[0] ?? 0));
  let lun = 0;
  while (taken.includes(lun)) lun += 1;
  return lun;
}

/** Whether its secrets have to be asked for: they are sent along. */
export const needsSecrets = (view: View) => (view.user !== "" && view.hadSecret && !view.secret) || (view.mutualUser !== "" && view.hadMutual && !view.mutualSecret);

/** What the property is set to. `others` are those of all volumes, `old` is its own in the clear, where secrets stay. */
export function valueOfView(view: View, others: string[], old = ""): string {
  if (!view.isServed) return "off";
  const was = optionsOf(old);
  const kept = (typed: string, name: string) => typed || named(was, name)[0] || "";
  const options: [string, string][] = [];
  if (view.target) options.push(["target", view.target.trim()], ["lun", view.lun.trim() || String(freeLun(others, view.target.trim()))]);
  linesOf(view.groups.replaceAll(",", "\n")).forEach((group) => options.push(["group", group]));
  linesOf(view.initiators).forEach((initiator) => options.push(["initiator", initiator]));
  if (view.user) options.push(["user", view.user], ["secret", kept(view.secret, "secret")]);
  if (view.user && view.mutualUser) options.push(["mutual_user", view.mutualUser], ["mutual_secret", kept(view.mutualSecret, "mutual_secret")]);
  return options.length === 0 ? "on" : options.map((option) => option.join("=")).join(",");
}

/** Without secrets. */
export const shownValue = (value: string) => value.replace(/(secret|sealed)=[^,]*/g, `$1=${HIDDEN}`);
