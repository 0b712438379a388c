/** Who has changed what, the newest first. */
import { useState } from "react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { follow, get, type Answered, type Schemas } from "../api/client";
import { Failure, Field, Head, Name } from "../parts/ui";
import { Grid, type Column } from "../parts/grid";
import { exactTime, plainly, t } from "../words";

type Record = Schemas["AuditRecord"];

function byOf(by: Record["by"]): string {
  if (by === "nobody") return "–";
  if (by === "peer") return t("appliance");
  if ("socket" in by) return t("socket");
  if ("session" in by) return t("session {id}", { id: by.session.id });
  if ("token" in by) return t("token {id}", { id: by.token.id });
  return "–";
}

/** An address as people read it: slashes of names travel escaped. */
const readable = (path: string) => {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
};

export default function Audit() {
  const [user, setUser] = useState("");
  const pages = useInfiniteQuery<Answered<Record[]>, Error, { pages: Answered<Record[]>[] }, unknown[], string>({
    queryKey: ["/v1/audit", user],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => (pageParam ? follow<Record[]>(pageParam, signal) : get("/v1/audit", { query: { limit: 500, ...(user ? { user } : {}) } as never, signal })),
    getNextPageParam: (last) => last.next,
  });
  const rows = pages.data?.pages.flatMap(({ value }) => value) ?? [];
  const columns: Column<Record>[] = [
    { id: "time", name: t("Time"), width: "185px", show: ({ time }) => exactTime(time) },
    { id: "who", name: t("Who"), width: "minmax(100px, 1fr)", show: ({ who }) => <Name>{who}</Name> },
    { id: "by", name: t("By"), width: "110px", show: ({ by }) => byOf(by) },
    { id: "address", name: t("From"), width: "130px", show: ({ address }) => <span className="mono small">{address ?? "–"}</span> },
    { id: "verb", name: t("Verb"), width: "90px", show: ({ verb }) => verb },
    { id: "path", name: t("Path"), width: "minmax(220px, 3fr)", show: ({ path }) => <span className="mono small" title={plainly(readable(path))}><Name>{readable(path)}</Name></span> },
    { id: "target", name: t("Of"), width: "minmax(110px, 1fr)", show: ({ target }) => (target ? <Name>{target}</Name> : "–") },
    { id: "status", name: t("Status"), width: "75px", isNumber: true, show: ({ status }) => status },
  ];
  return (
    <div className="page">
      <Head title={t("Audit log")} about={t("Every request that was not a read, and what came of it. It cannot be changed from here.")} />
      <div className="row"><Field label={t("Only of this account")} value={user} onChange={setUser} spellCheck="false" /></div>
      {pages.error && <Failure error={pages.error} />}
      {pages.isPending ? <p className="muted" role="status">{t("Loading…")}</p> : (
        <Grid label={t("Audit log")} rows={rows} columns={columns} keyOf={({ id }) => String(id)} least={1060} hasMore={pages.hasNextPage}
          onEnd={() => { if (!pages.isFetching) void pages.fetchNextPage(); }} empty={<p>{t("Nothing was done by that account.")}</p>} />
      )}
    </div>
  );
}
