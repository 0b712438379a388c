/** What a file was in the snapshots of its file system: snapshots in a row that have the same are one version. */
import type { Schemas } from "../api/client";

export type FileNode = Schemas["FileNode"];

export interface Version {
  file: FileNode;
  /** The newest snapshot that has it, and the oldest. */
  newest: string;
  oldest: string;
  taken: number;
  count: number;
}

/** Of what the API says, the oldest snapshot first; the newest version comes first here. Where nothing was, is none. */
export function versionsOf(all: Schemas["FileVersion"][]): Version[] {
  const found: Version[] = [];
  for (const { snapshot, taken, file, differs } of all) {
    const last = found.at(-1);
    if (!file) continue;
    if (last && !differs) Object.assign(last, { newest: snapshot, taken, count: last.count + 1 });
    else found.push({ file, newest: snapshot, oldest: snapshot, taken, count: 1 });
  }
  return found.reverse();
}

/** Whether a version is what is there now. */
export const isNow = (file: FileNode, now: FileNode | null | undefined) =>
  !!now && now.object === file.object && now.generation === file.generation && now.changed === file.changed && now.changed_nanos === file.changed_nanos;
