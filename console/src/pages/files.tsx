/** The directories of a snapshot, read in pages as they come into sight. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link, useLocation } from "wouter";
import { get, type Schemas } from "../api/client";
import { Button, Failure, Head, Name, Sheet } from "../parts/ui";
import { byNumber, byText, Grid, type Column } from "../parts/grid";
import { exactTime, plainly, size, t } from "../words";
import { FileSheet, kindOf } from "../files/file";
import { below, modeOf, shown } from "../files/names";
import type { FileNode } from "../files/versions";
import { nameInAddress } from "./datasets";

export default function FilesPage() {
  useLocation();
  const name = nameInAddress();
  return <Files key={name} snapshot={name} />;
}

function Files({ snapshot }: { snapshot: string }) {
  const [path, setPath] = useState("");
  const [opened, open] = useState<FileNode>();
  const dataset = snapshot.split("@")[0]!;
  const pages = useInfiniteQuery<Schemas["FilePage"], Error, { pages: Schemas["FilePage"][] }, unknown[], string>({
    queryKey: ["files", "list", snapshot, path],
    initialPageParam: "",
    queryFn: async ({ pageParam, signal }) => (await get("/v1/datasets/{name}/files", { path: { name: snapshot }, query: { path, after: pageParam } as never, signal })).value,
    getNextPageParam: (last) => last.next ?? undefined,
  });
  const rows = useMemo(() => pages.data?.pages.flatMap(({ entries }) => entries) ?? [], [pages.data]);
  const columns: Column<FileNode>[] = [
    { id: "name", name: t("Name"), width: "minmax(220px, 3fr)", show: ({ name, kind }) => <span title={shown(name)}><Name>{shown(name)}</Name>{kind === "directory" ? "/" : ""}</span>, order: byText(({ name }) => shown(name)) },
    { id: "kind", name: t("Kind"), width: "110px", show: ({ kind }) => kindOf(kind), order: byText(({ kind }) => kind) },
    { id: "size", name: t("Size"), width: "110px", isNumber: true, show: (one) => (one.kind === "file" ? size(one.size) : "–"), order: byNumber(({ size: bytes }) => bytes) },
    { id: "modified", name: t("Modified"), width: "190px", show: ({ modified }) => exactTime(modified), order: byNumber(({ modified }) => modified) },
    { id: "owner", name: t("Owner"), width: "120px", show: ({ uid, gid }) => <span className="mono small">{`${uid}:${gid}`}</span> },
    { id: "mode", name: t("Mode"), width: "110px", show: ({ mode }) => <span className="mono small">{modeOf(mode)}</span> },
  ];
  const parts = path.split("/").slice(1);
  const enter = (one: FileNode) => (one.kind === "directory" ? setPath(below(path, one.name)) : open(one));
  return (
    <div className="page">
      <Head title={t("Files of {name}", { name: plainly(snapshot) })} about={t("Enter opens a directory, or a file: its versions in all snapshots, and what brings one back. Links are shown and not followed.")}>
        <Link className="button" href={`/snapshots/${encodeURIComponent(dataset)}`}>{t("All snapshots of {name}", { name: plainly(dataset) })}</Link>
      </Head>
      <nav className="row" aria-label={t("Directory")}>
        <Button manner="quiet" onPress={() => setPath("")} isDisabled={path === ""}>{t("Root")}</Button>
        {parts.map((name, at) => (
          <span key={at} className="row"><span aria-hidden="true">/</span><Button manner="quiet" isDisabled={at === parts.length - 1} onPress={() => setPath(`/${parts.slice(0, at + 1).join("/")}`)}>{shown(name)}</Button></span>
        ))}
      </nav>
      {pages.error && <Failure error={pages.error} />}
      {pages.isPending ? <p className="muted" role="status">{t("Loading…")}</p> : pages.data && (
        <Grid key={path} label={t("Files")} rows={rows} columns={columns} keyOf={({ name }) => name} onOpen={enter} least={860}
          hasMore={pages.hasNextPage} onEnd={() => { if (!pages.isFetching) void pages.fetchNextPage(); }} empty={<p>{t("This directory is empty.")}</p>} />
      )}
      <Sheet title={shown(opened?.name ?? "")} isOpen={!!opened} onClose={() => open(undefined)} isWide>
        {opened && <FileSheet snapshot={snapshot} path={below(path, opened.name)} node={opened} close={() => open(undefined)} />}
      </Sheet>
    </div>
  );
}
