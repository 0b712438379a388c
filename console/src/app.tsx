/** The frame around all pages: places, who is in, and whether what is shown is live. */
import { useEffect, useRef, useState } from "react";
import { Link as AnyLink, Route, Router, Switch, useLocation } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";
import { useLink, useLive, useRead } from "./api/queries";
import { useSession } from "./api/session";
import { Again } from "./parts/again";
import { page, preloadIdly, type Page } from "./parts/page";
import { theme, setTheme, type Theme } from "./parts/theme";
import { Button, Deeds, Failure, State } from "./parts/ui";
import { Door } from "./pages/door";
import { t, tn } from "./words";

const Dashboard = page(() => import("./pages/dashboard"));
const Pools = page(() => import("./pages/pools"));
const Datasets = page(() => import("./pages/datasets"));
const Dataset = page(() => import("./pages/dataset"));
const Snapshots = page(() => import("./pages/snapshots"));
const Files = page(() => import("./pages/files"));
const Shares = page(() => import("./pages/shares"));
const Volumes = page(() => import("./pages/volumes"));
const Services = page(() => import("./pages/services"));
const Replication = page(() => import("./pages/replication"));
const Advisor = page(() => import("./pages/advisor"));
const Faults = page(() => import("./pages/faults"));
const Jobs = page(() => import("./pages/jobs"));
const Users = page(() => import("./pages/users"));
const Analytics = page(() => import("./pages/analytics"));
const Trace = page(() => import("./pages/trace"));
const Audit = page(() => import("./pages/audit"));
const Settings = page(() => import("./pages/settings"));
const Shell = page(() => import("./pages/shell"));
const Setup = page(() => import("./pages/setup"));
const About = page(() => import("./pages/about"));

interface Place {
  path: string;
  name: () => string;
  page: Page;
  isForAdministrators?: boolean;
  /** Pages below it. */
  more?: Record<string, Page>;
}

const PLACES: { name: () => string; places: Place[] }[] = [
  { name: () => t("Overview"), places: [
    { path: "/", name: () => t("Dashboard"), page: Dashboard },
    { path: "/faults", name: () => t("Faults"), page: Faults },
    { path: "/analytics", name: () => t("Analytics"), page: Analytics },
    { path: "/trace", name: () => t("Trace"), page: Trace },
  ] },
  { name: () => t("Storage"), places: [
    { path: "/pools", name: () => t("Pools"), page: Pools },
    { path: "/datasets", name: () => t("Datasets"), page: Datasets, more: { "/datasets/:name": Dataset } },
    { path: "/snapshots", name: () => t("Snapshots"), page: Snapshots, more: { "/snapshots/:name": Snapshots, "/snapshots/:name/files": Files } },
    { path: "/advisor", name: () => t("Advisor"), page: Advisor },
  ] },
  { name: () => t("Sharing"), places: [
    { path: "/shares", name: () => t("Shares"), page: Shares },
    { path: "/volumes", name: () => t("Volumes and targets"), page: Volumes },
  ] },
  { name: () => t("Protection"), places: [
    { path: "/services", name: () => t("Services"), page: Services },
    { path: "/replication", name: () => t("Replication"), page: Replication },
  ] },
  { name: () => t("Appliance"), places: [
    { path: "/jobs", name: () => t("Jobs"), page: Jobs },
    { path: "/users", name: () => t("Users and tokens"), page: Users },
    { path: "/audit", name: () => t("Audit log"), page: Audit, isForAdministrators: true },
    { path: "/settings", name: () => t("Settings"), page: Settings },
    { path: "/shell", name: () => t("Shell"), page: Shell },
    { path: "/about", name: () => t("About"), page: About },
  ] },
];
/** Pages without a place in the menu. */
const OTHERS: Record<string, Page> = { "/setup": Setup };

export function App() {
  const { me, failure } = useSession();
  useLive(!!me);
  if (failure) return <main className="door"><div className="card stack"><h1>{t("Cistern")}</h1><Failure error={failure} /><Button onPress={() => location.reload()}>{t("Try again")}</Button></div></main>;
  if (me === undefined) return <main className="door"><p role="status" className="muted">{t("Loading…")}</p></main>;
  return (
    <Router hook={useHashLocation}>
      {me === null ? <Door /> : <Frame />}
    </Router>
  );
}

function Frame() {
  const { may } = useSession();
  const [path] = useLocation();
  const [isOpen, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const places = PLACES.flatMap((part) => part.places);
  const here = places.find((one) => (one.path === "/" ? path === "/" : path === one.path || path.startsWith(`${one.path}/`)));
  useEffect(() => {
    document.title = here ? t("{page} – Cistern", { page: here.name() }) : t("Cistern");
    setOpen(false);
    // The screen reader goes where the page is; at the start it is there.
    if (isFirst.current) isFirst.current = false;
    else main.current?.focus();
  }, [here, path]);
  useEffect(() => preloadIdly(places.flatMap((one) => [one.page, ...Object.values(one.more ?? {})])), []);
  return (
    <div className="frame">
      <a className="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>{t("Skip to the page")}</a>
      <Bar onMenu={() => setOpen(!isOpen)} isOpen={isOpen} />
      <nav className={isOpen ? "places open" : "places"} aria-label={t("Pages")}>
        {PLACES.map((part) => {
          const shown = part.places.filter((one) => !one.isForAdministrators || may("administrator"));
          return (
            <section key={part.name()} aria-label={part.name()}>
              <h2>{part.name()}</h2>
              <ul>
                {shown.map((one) => (
                  <li key={one.path}>
                    <AnyLink href={one.path} aria-current={one === here ? "page" : undefined} onMouseEnter={() => void one.page.preload().catch(() => {})} onFocus={() => void one.page.preload().catch(() => {})}>
                      {one.name()}{one.path === "/faults" && <OpenFaults />}
                    </AnyLink>
                  </li>
                ))}
              </ul>
            </section>
          );
        })}
      </nav>
      <main ref={main} id="main" tabIndex={-1}>
        <Switch>
          {places.map((one) => <Route key={one.path} path={one.path} component={one.page} />)}
          {places.flatMap((one) => Object.entries(one.more ?? {})).map(([at, Page]) => <Route key={at} path={at} component={Page} />)}
          {Object.entries(OTHERS).map(([at, Page]) => <Route key={at} path={at} component={Page} />)}
          <Route><p className="note">{t("There is no such page.")}</p></Route>
        </Switch>
      </main>
      <Again />
    </div>
  );
}

/** How many faults are open, beside the place that shows them. */
function OpenFaults() {
  const { data } = useRead("/v1/alerts", { query: { limit: 100 } as never });
  const count = data?.value.length ?? 0;
  if (count === 0) return null;
  return <span className="count"><span aria-hidden="true">{count >= 100 ? "99+" : count}</span><span className="hidden">{tn(count, "{count} open", "{count} open")}</span></span>;
}

function Bar({ onMenu, isOpen }: { onMenu: () => void; isOpen: boolean }) {
  const { me, end } = useSession();
  const link = useLink();
  const [, setChosen] = useState<Theme>(theme());
  const choose = (next: Theme) => () => {
    setTheme(next);
    setChosen(next);
  };
  return (
    <header className="bar">
      <button type="button" className="button menu-button" aria-expanded={isOpen} onClick={onMenu}>{t("Menu")}</button>
      <AnyLink href="/" className="mark">{t("Cistern")}</AnyLink>
      <span className="space" />
      <span className="small" role="status"><State tone={link === "live" ? "good" : "warn"}>{link === "live" ? t("Live") : t("Connecting")}</State></span>
      <span className="muted small who">{t("{name}, {role}", { name: me?.name ?? "", role: me?.role ?? "" })}</span>
      <Deeds label={t("Account and look")} text={t("Account")} deeds={[
        { id: "light", name: t("Light"), run: choose("light") },
        { id: "dark", name: t("Dark"), run: choose("dark") },
        { id: "system", name: t("As the system"), run: choose("system") },
        { id: "out", name: t("Sign out"), run: () => void end() },
      ]} />
    </header>
  );
}
