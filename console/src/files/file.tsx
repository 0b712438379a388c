/** A file of a snapshot: what it is, its versions in other snapshots, and what can be done with each. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { get, type Schemas } from "../api/client";
import { useSession } from "../api/session";
import { Button, Failure, Name } from "../parts/ui";
import { exactTime, number, plainly, size, t, tn } from "../words";
import { modeOf, shown } from "./names";
import { Restore } from "./restore";
import { isNow, versionsOf, type FileNode, type Version } from "./versions";

/** So many requests, of 64 snapshots each, are sent by themselves. */
const BY_ITSELF = 8;

export const kindOf = (kind: Schemas["FileKind"]) => {
  switch (kind) {
    case "file": return t("File");
    case "directory": return t("Directory");
    case "symlink": return t("Link");
    case "fifo": return t("Pipe");
    case "socket": return t("Socket");
    case "character-device": case "block-device": return t("Device");
  }
};

const contents = (snapshot: string, path: string) => `/v1/datasets/${encodeURIComponent(snapshot)}/file?path=${encodeURIComponent(path)}`;

interface FileProps {
  snapshot: string;
  path: string;
  node: FileNode;
  close: () => void;
}

export function FileSheet({ snapshot, path, node, close }: FileProps) {
  const { may } = useSession();
  const [restored, restore] = useState<string>();
  const [isDone, setDone] = useState(false);
  const dataset = snapshot.split("@")[0]!;
  const pages = useInfiniteQuery<Schemas["FileVersions"], Error, { pages: Schemas["FileVersions"][] }, unknown[], string>({
    queryKey: ["files", "versions", dataset, path],
    initialPageParam: "",
    queryFn: async ({ pageParam, signal }) => (await get("/v1/datasets/{name}/file-versions", { path: { name: dataset }, query: { path, after: pageParam } as never, signal })).value,
    getNextPageParam: (last) => last.next ?? undefined,
  });
  const read = pages.data?.pages ?? [];
  const now = read[0]?.now;
  const versions = useMemo(() => versionsOf(read.flatMap((one) => one.versions)), [read]);
  const { hasNextPage, isFetching, fetchNextPage } = pages;
  useEffect(() => {
    if (hasNextPage && !isFetching && read.length < BY_ITSELF) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage, read.length]);
  const isFile = node.kind === "file";
  if (restored) {
    return <Restore snapshot={restored} path={path} isThere={!!now} close={() => restore(undefined)} onDone={() => { restore(undefined); setDone(true); }} />;
  }
  const mayRead = isFile && may("administrator");
  const deeds = (of: string) => (
    <span className="row">
      <a className="button quiet" href={contents(of, path)} download aria-label={t("Download it as of {snapshot}", { snapshot: plainly(of) })}>{t("Download")}</a>
      <Button manner="quiet" aria-label={t("Restore it as of {snapshot}", { snapshot: plainly(of) })} onPress={() => restore(of)}>{t("Restore…")}</Button>
    </span>
  );
  return (
    <>
      <dl className="facts">
        <dt>{t("Path")}</dt><dd className="mono small"><Name>{shown(path)}</Name></dd>
        <dt>{t("Kind")}</dt><dd>{kindOf(node.kind)}{node.target ? <> → <span className="mono small"><Name>{shown(node.target)}</Name></span></> : null}</dd>
        {isFile && <><dt>{t("Size")}</dt><dd>{t("{size}, {used} on disk", { size: size(node.size), used: size(node.used) })}</dd></>}
        <dt>{t("Modified")}</dt><dd>{exactTime(node.modified)}</dd>
        <dt>{t("Owner and mode")}</dt><dd className="mono small">{`${node.uid}:${node.gid} ${modeOf(node.mode)}`}</dd>
        <dt>{t("Object")}</dt><dd className="mono small">{number(node.object)}</dd>
      </dl>
      {isDone && <p role="status" className="note good">{t("It is restored.")}</p>}
      <h3>{t("Versions")}</h3>
      {pages.error && <Failure error={pages.error} />}
      <Versions versions={versions} now={now} deeds={mayRead ? deeds : undefined} />
      <p className="small muted" role="status">
        {isFetching ? t("Snapshots are being looked into…") : tn(read.reduce((sum, one) => sum + one.versions.length, 0), "{count} snapshot was looked into", "{count} snapshots were looked into")}
      </p>
      <div className="row end">
        {hasNextPage && read.length >= BY_ITSELF && <Button onPress={() => void fetchNextPage()} isDisabled={isFetching}>{t("Look into younger ones")}</Button>}
        {mayRead && <a className="button" href={contents(snapshot, path)} download>{t("Download")}</a>}
        {mayRead && <Button onPress={() => restore(snapshot)}>{t("Restore…")}</Button>}
        <Button onPress={close}>{t("Close")}</Button>
      </div>
    </>
  );
}

interface VersionsProps {
  versions: Version[];
  now: FileNode | null | undefined;
  deeds: ((snapshot: string) => React.ReactNode) | undefined;
}

function Versions({ versions, now, deeds }: VersionsProps) {
  const isKept = versions.some(({ file }) => isNow(file, now));
  return (
    <div className="scroll-x">
      <table className="plain">
        <thead><tr><th scope="col">{t("Modified")}</th><th scope="col" className="number">{t("Size")}</th><th scope="col">{t("In snapshots")}</th><th scope="col">{t("Get it back")}</th></tr></thead>
        <tbody>
          {!isKept && <tr><td>{now ? exactTime(now.modified) : "–"}</td><td className="number">{now ? size(now.size) : "–"}</td><td>{now ? t("as it is now, in no snapshot") : t("now there is nothing of this name")}</td><td /></tr>}
          {versions.map(({ file, newest, oldest, count }) => (
            <tr key={newest}>
              <td>{exactTime(file.modified)}</td>
              <td className="number">{size(file.size)}</td>
              <td>
                <Name>{newest.split("@")[1] ?? newest}</Name>
                {count > 1 && <span className="muted small"> {tn(count - 1, "and {count} before it, from {oldest} on", "and {count} before it, from {oldest} on", { oldest: plainly(oldest.split("@")[1] ?? oldest) })}</span>}
                {isNow(file, now) && <span className="muted small"> {t("as it is now")}</span>}
              </td>
              <td>{file.kind === "file" && deeds?.(newest)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
