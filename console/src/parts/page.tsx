/**
 * Pages whose script is loaded when it is needed, or before: one that is there is drawn at once.
 *
 * It is not done by `lazy` and `Suspense`: React keeps what stands in for a page for 300 ms at least, and a page that is
 * there after 20 would wait for them.
 */
import { useEffect, useState, type ComponentType } from "react";
import { Failure } from "./ui";
import { t } from "../words";

export type Page = ComponentType & { preload: () => Promise<unknown> };

export function page(load: () => Promise<{ default: ComponentType }>): Page {
  let found: ComponentType | undefined;
  let loading: Promise<unknown> | undefined;
  const preload = () => {
    loading ??= load().then((part) => { found = part.default; }).catch((error: unknown) => {
      // It may be there the next time.
      loading = undefined;
      throw error;
    });
    return loading;
  };
  function Loading() {
    const [failure, setFailure] = useState<unknown>();
    const [, setThere] = useState(found !== undefined);
    useEffect(() => {
      if (found) return undefined;
      let isGone = false;
      preload().then(() => isGone || setThere(true), (error: unknown) => isGone || setFailure(error));
      return () => { isGone = true; };
    }, []);
    const Found = found;
    if (Found) return <Found />;
    return failure ? <Failure error={failure} /> : <p className="muted" role="status">{t("Loading…")}</p>;
  }
  return Object.assign(Loading, { preload });
}

/** Loads pages one after another, whenever the browser has nothing else to do. Returns what stops it. */
export function preloadIdly(pages: Page[]): () => void {
  let isGone = false;
  const rest = [...pages];
  const idle = (work: () => void) => ("requestIdleCallback" in window ? requestIdleCallback(work) : setTimeout(work, 200));
  const next = () => {
    const one = rest.shift();
    if (one && !isGone) void one.preload().then(() => idle(next), () => {});
  };
  idle(next);
  return () => { isGone = true; };
}
