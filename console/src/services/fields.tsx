/** The fields of each kind of service. */
import type { ReactNode } from "react";
import { useRead } from "../api/queries";
import { Button, Check, Field, Select } from "../parts/ui";
import { WhenFields } from "../parts/when";
import { plainly, t } from "../words";
import { newLevel, type Draft, type HostDraft, type TargetDraft } from "./draft";

export interface Editor {
  draft: Draft;
  set: (patch: Partial<Draft>) => void;
  fault: (field: string) => string | undefined;
}

type TextName = { [K in keyof Draft]: Draft[K] extends string ? K : never }[keyof Draft];

/** A field of one text of the draft. */
function Line({ of, name, ...more }: { of: Editor; name: TextName; label: string; description?: string; isNarrow?: boolean; isLong?: boolean; names?: string[] }) {
  return <Field {...more} value={of.draft[name]} onChange={(text) => of.set({ [name]: text })} fault={of.fault(name)} spellCheck="false" />;
}

/** File systems and volumes, by name. */
function useNames(kinds = "filesystem,volume"): string[] {
  return useRead("/v1/datasets", { query: { kinds, props: "used" } as never }).data?.value.map(({ name }) => name) ?? [];
}

function TargetFields({ of, field, label, target, onChange, isAlone, isElsewhere, children }: {
  of: Editor; field: string; label: string; target: TargetDraft; onChange: (target: TargetDraft) => void; isAlone?: boolean; isElsewhere?: boolean; children?: ReactNode;
}) {
  const names = useNames();
  const set = (patch: Partial<TargetDraft>) => onChange({ ...target, ...patch });
  return (
    <>
      <div className="row base wide-first">
        <Field label={label} value={target.dataset} onChange={(dataset) => set({ dataset, guid: dataset === target.dataset ? target.guid : null })} fault={of.fault(field)} names={isElsewhere ? [] : names} spellCheck="false" />
        {children}
      </div>
      {!isAlone && <Check isSelected={target.recursive} onChange={(recursive) => set({ recursive })}>{t("And everything below it")}</Check>}
      {!isAlone && target.recursive && <Field isLong label={t("Except these, one a line")} value={target.exclude} onChange={(exclude) => set({ exclude })} spellCheck="false" />}
    </>
  );
}

function Zone({ of }: { of: Editor }) {
  return <Line of={of} name="zone" label={t("Time zone")} description={t("As Europe/Berlin. Empty: that of the machine.")} />;
}

function Rarely({ children }: { children: ReactNode }) {
  return <details><summary>{t("More")}</summary><div className="stack">{children}</div></details>;
}

function Snap({ of }: { of: Editor }) {
  const { draft, set, fault } = of;
  const put = <T,>(list: T[], at: number, one: T) => list.map((old, place) => (place === at ? one : old));
  const without = <T,>(list: T[], at: number) => list.filter((_, place) => place !== at);
  return (
    <>
      {draft.targets.map((target, at) => (
        <TargetFields key={at} of={of} field={`target.${at}`} label={t("Dataset")} target={target} onChange={(one) => set({ targets: put(draft.targets, at, one) })}>
          {draft.targets.length > 1 && <Button aria-label={t("Leave dataset {name} out", { name: plainly(target.dataset) })} onPress={() => set({ targets: without(draft.targets, at) })}>{t("Leave out")}</Button>}
        </TargetFields>
      ))}
      {fault("targets") && <p className="fault small">{fault("targets")}</p>}
      <div className="row"><Button onPress={() => set({ targets: [...draft.targets, { dataset: "", recursive: true, exclude: "", guid: null }] })}>{t("Another dataset")}</Button></div>
      {draft.levels.map((level, at) => {
        const change = (patch: Partial<typeof level>) => set({ levels: put(draft.levels, at, { ...level, ...patch }) });
        return (
          <fieldset key={at}>
            <legend>{t("Level {name}", { name: plainly(level.name) || String(at + 1) })}</legend>
            <WhenFields label={t("Taken")} draft={level.when} onChange={(when) => change({ when })} fault={fault(`level.${at}.when`)} />
            <div className="row base">
              <Field label={t("Name of the level")} value={level.name} onChange={(name) => change({ name })} fault={fault(`level.${at}.name`)} spellCheck="false" />
              <Field isNarrow label={t("Newest kept")} value={level.count} onChange={(count) => change({ count })} fault={fault(`level.${at}.count`)} inputMode="numeric" />
              <Field isNarrow label={t("Kept for")} value={level.age} onChange={(age) => change({ age })} fault={fault(`level.${at}.age`)} placeholder={t("90d")} />
              <Field isNarrow label={t("At least")} value={level.atLeast} onChange={(atLeast) => change({ atLeast })} fault={fault(`level.${at}.atLeast`)} inputMode="numeric" />
              {draft.levels.length > 1 && <Button aria-label={t("Leave level {name} out", { name: plainly(level.name) })} onPress={() => set({ levels: without(draft.levels, at) })}>{t("Leave out")}</Button>}
            </div>
          </fieldset>
        );
      })}
      {fault("levels") && <p className="fault small">{fault("levels")}</p>}
      <div className="row"><Button onPress={() => set({ levels: [...draft.levels, newLevel("", { every: "week", weekday: "sunday", hour: 0, minute: 30 }, "8")] })}>{t("Another level")}</Button></div>
      <Line of={of} name="space" label={t("Space of all snapshots, at most")} description={t("As 100G, or 20% of the dataset's room. Empty: no bound. The oldest go first.")} />
      <Rarely>
        <Line of={of} name="most" label={t("Snapshots of a dataset, at most")} />
        <Check isSelected={draft.skips} onChange={(skips) => set({ skips })}>{t("None of a dataset that has not changed")}</Check>
        <Select label={t("Names of snapshots")} value={draft.naming} onChange={(naming) => set({ naming })} options={[{ id: "utc", name: t("Level and time, UTC") }, { id: "zfs-auto-snapshot", name: t("As zfs-auto-snapshot") }, { id: "template", name: t("A template") }]} />
        {draft.naming === "template" && <Line of={of} name="template" label={t("Template")} />}
        <Line of={of} name="stale" label={t("A fault, if the newest is older than")} description={t("As 2h. Empty: none.")} />
        <Line of={of} name="lock" label={t("Locked for")} description={t("As 7d: nobody destroys them until then, neither administrators nor this service.")} />
      </Rarely>
    </>
  );
}

function Pools({ of }: { of: Editor }) {
  const { draft, set } = of;
  const pools = useRead("/v1/pools").data?.value ?? [];
  const names = [...new Set([...pools.map(({ name }) => name), ...draft.pools])];
  const toggle = (name: string, isOn: boolean) => set({ pools: isOn ? [...draft.pools, name] : draft.pools.filter((one) => one !== name) });
  return (
    <>
      <fieldset>
        <legend>{t("Pools")}</legend>
        {names.map((name) => <Check key={name} isSelected={draft.pools.includes(name)} onChange={(isOn) => toggle(name, isOn)}>{plainly(name)}</Check>)}
        {draft.pools.length === 0 && <p className="small muted">{t("None is chosen: all pools, and those that come.")}</p>}
      </fieldset>
      <WhenFields label={t("Begins")} draft={draft.when} onChange={(when) => set({ when })} fault={of.fault("when")} />
      <Line of={of} name="window" label={t("In these hours alone")} description={t("As 22:00-06:00: it waits outside of them, and goes on. Empty: at any time.")} />
      <Rarely><Zone of={of} /></Rarely>
    </>
  );
}

function Script({ of }: { of: Editor }) {
  return (
    <>
      <p className="note warn">{t("It runs as the daemon's user. No shell is between, and it has nothing to read.")}</p>
      <Line of={of} name="program" label={t("Program")} description={t("Its path, from the root.")} />
      <Line of={of} name="arguments" isLong label={t("Arguments, one a line")} />
      <WhenFields label={t("Runs")} draft={of.draft.when} onChange={(when) => of.set({ when })} fault={of.fault("when")} />
      <Rarely>
        <Line of={of} name="seconds" label={t("Ended after")} />
        <Line of={of} name="memory" label={t("Memory of each process, at most")} />
        <Line of={of} name="processes" label={t("Processes at once, at most")} />
        <Line of={of} name="output" label={t("Output that is kept")} />
        <Zone of={of} />
      </Rarely>
    </>
  );
}

function HostFields({ of, field, host, onChange, hasKey = true }: { of: Editor; field: string; host: HostDraft; onChange: (host: HostDraft) => void; hasKey?: boolean }) {
  const set = (patch: Partial<HostDraft>) => onChange({ ...host, ...patch });
  return (
    <>
      <div className="row base">
        <Field label={t("Host")} value={host.host} onChange={(text) => set({ host: text })} fault={of.fault(field)} spellCheck="false" />
        <Field label={t("User there")} value={host.user} onChange={(user) => set({ user })} fault={of.fault(`${field}.user`)} spellCheck="false" placeholder={t("root")} />
        <Field isNarrow label={t("Port")} value={host.port} onChange={(port) => set({ port })} fault={of.fault(`${field}.port`)} inputMode="numeric" placeholder={t("22")} />
      </div>
      {hasKey && <Check isSelected={host.isKnown} onChange={(isKnown) => set({ isKnown })}>{t("Only with a key that is known already: otherwise the first one that it shows is noted, and no other is believed then")}</Check>}
    </>
  );
}

function PeerField({ label, peer, onChange }: { label: string; peer: string; onChange: (peer: string) => void }) {
  const peers = useRead("/v1/peers").data?.value ?? [];
  if (peers.length === 0) return <p className="note warn">{t("No other appliance is known yet: invite one on the page Replication.")}</p>;
  return <Select label={label} value={peer} onChange={onChange} options={peers.map(({ name }) => ({ id: name, name: plainly(name) }))} />;
}

function Sync({ of }: { of: Editor }) {
  const { draft, set } = of;
  const names = useNames("filesystem");
  return (
    <>
      <Select label={t("From")} value={draft.from} onChange={(from) => set({ from })} options={[{ id: "here", name: t("This appliance") }, { id: "peer", name: t("Another appliance"), about: t("What it lets this one read is pulled to a pool here") }, { id: "ssh", name: t("A host with OpenZFS, by SSH"), about: t("Its datasets are pulled to a pool here") }]} />
      {draft.from === "peer" && <PeerField label={t("Appliance that has it")} peer={draft.fromPeer} onChange={(fromPeer) => set({ fromPeer })} />}
      {of.fault("fromPeer") && <p className="fault small">{of.fault("fromPeer")}</p>}
      {draft.from === "ssh" && <HostFields of={of} field="fromHost" host={draft.fromHost} onChange={(fromHost) => set({ fromHost })} />}
      <TargetFields of={of} field="source" label={t("Dataset that is sent")} target={draft.source} onChange={(source) => set({ source })} isElsewhere={draft.from !== "here"} />
      <Select label={t("To")} value={draft.to} onChange={(to) => set({ to })} options={[{ id: "pool", name: t("A pool of this appliance") }, { id: "peer", name: t("Another appliance") }, { id: "ssh", name: t("A host with OpenZFS, by SSH") }]} />
      {draft.to === "peer" && <PeerField label={t("Appliance")} peer={draft.peer} onChange={(peer) => set({ peer })} />}
      {of.fault("peer") && <p className="fault small">{of.fault("peer")}</p>}
      {draft.to === "ssh" && <HostFields of={of} field="toHost" host={draft.toHost} onChange={(toHost) => set({ toHost })} />}
      <Line of={of} name="toDataset" label={t("Replica")} names={draft.to === "pool" ? names : []} description={t("A dataset that is not there yet, as backup/home. It is made, and read-only.")} />
      <WhenFields label={t("Sent")} draft={draft.when} onChange={(when) => set({ when })} fault={of.fault("when")} />
      <Line of={of} name="lag" label={t("A fault, if it is behind by more than")} description={t("As 1h. Empty: none.")} />
      <Rarely>
        <div className="row base">
          <Line of={of} name="keepCount" label={t("Newest kept there")} isNarrow />
          <Line of={of} name="keepAge" label={t("And those no older than")} />
        </div>
        <Line of={of} name="limits" isLong label={t("Rates, one a line")} description={t("As 50M, or 5M@08:00-18:00: bytes a second. Empty: as fast as may be.")} />
        <Line of={of} name="absentFor" label={t("While it is away, snapshots are held for")} description={t("Then bookmarks take their place. Empty: without end.")} />
        <Line of={of} name="absentBytes" label={t("And as long as they keep less than")} />
        <Line of={of} name="stuck" label={t("Broken off, if no byte moves for")} />
        <Zone of={of} />
      </Rarely>
    </>
  );
}

function Tier({ of }: { of: Editor }) {
  const { draft, set } = of;
  const names = useNames("filesystem");
  return (
    <>
      <TargetFields of={of} field="source" label={t("File system")} target={draft.source} onChange={(source) => set({ source })} isAlone />
      <Line of={of} name="folder" label={t("Folder in it")} description={t("Empty: all.")} />
      <Select label={t("To")} value={draft.tierTo} onChange={(tierTo) => set({ tierTo })} options={[{ id: "dataset", name: t("A dataset of this appliance") }, { id: "folder", name: t("A folder of this machine") }, { id: "ssh", name: t("A host, by SSH") }]} />
      {draft.tierTo === "dataset" && <Line of={of} name="toDataset" label={t("Dataset")} names={names} />}
      {draft.tierTo === "ssh" && <HostFields of={of} field="toHost" host={draft.toHost} onChange={(toHost) => set({ toHost })} hasKey={false} />}
      {draft.tierTo !== "dataset" && <Line of={of} name="path" label={t("Folder there")} description={t("Its path, from the root.")} />}
      <Check isSelected={draft.moves} onChange={(moves) => set({ moves })}>{t("Move: files are removed here once they are there")}</Check>
      {draft.moves && <Line of={of} name="movesAfter" label={t("Removed when they have not changed for")} description={t("As 30d. Empty: at once.")} />}
      <div className="row base">
        <Line of={of} name="older" label={t("Not changed for")} description={t("As 1y")} isNarrow />
        <Line of={of} name="newer" label={t("But since")} isNarrow />
        <Line of={of} name="least" label={t("At least")} description={t("As 1M")} isNarrow />
        <Line of={of} name="greatest" label={t("At most")} isNarrow />
      </div>
      <Line of={of} name="include" isLong label={t("Only these patterns, one a line")} />
      <Line of={of} name="exclude" isLong label={t("None of these patterns, one a line")} />
      <WhenFields label={t("Runs")} draft={draft.when} onChange={(when) => set({ when })} fault={of.fault("when")} />
      <Rarely>
        <Line of={of} name="rate" label={t("Bytes a second, at most")} />
        <Line of={of} name="depth" label={t("Folders deep, at most")} />
        <Check isSelected={draft.plain} onChange={(plain) => set({ plain })}>{t("Without ACLs and extended attributes, which some targets do not take")}</Check>
        <Line of={of} name="stuck" label={t("Broken off, if no byte moves for")} />
        <Zone of={of} />
      </Rarely>
    </>
  );
}

export function Fields({ of }: { of: Editor }) {
  switch (of.draft.kind) {
    case "auto-snap": return <Snap of={of} />;
    case "auto-scrub": case "auto-trim": return <Pools of={of} />;
    case "script": return <Script of={of} />;
    case "auto-sync": return <Sync of={of} />;
    case "auto-tier": return <Tier of={of} />;
  }
}
