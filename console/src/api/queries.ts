/**
 * What pages read, kept by TanStack Query, and read anew when an event says that it has changed.
 *
 * Invariant: however many events come, a list is read anew once a second at the most, and only while it is shown.
 */
import { QueryClient, useMutation, useQuery, useQueryClient, type UseQueryOptions } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { follow, linkNow, onEvent, onLink, type Event } from "./events";
import { get, Refusal, UNREACHED, type AnswerOf, type Answered, type Params, type PathsOf } from "./client";

export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      refetchOnWindowFocus: true,
      // A refusal stays one; who does not answer may be restarting.
      retry: (count, error) => error instanceof Refusal && error.kind === UNREACHED && count < 3,
      retryDelay: (count) => 500 * 2 ** count * (0.5 + Math.random()),
    },
  },
});

type Options<T> = Pick<UseQueryOptions<Answered<T>>, "enabled" | "refetchInterval" | "staleTime">;

/** Reads a path, with its tag. */
export function useRead<P extends PathsOf<"get">>(path: P, params: Params<P, "get"> = {}, options: Options<AnswerOf<P, "get">> = {}) {
  return useQuery<Answered<AnswerOf<P, "get">>>({
    queryKey: [path, params.path ?? {}, params.query ?? {}],
    queryFn: ({ signal }) => get(path, { ...params, signal }),
    ...options,
  });
}

/** Carries out a change, and has read anew what the paths begin with. */
export function useChange<I, O>(change: (input: I) => Promise<O>, paths: string[] = []) {
  const client = useQueryClient();
  return useMutation<O, Error, I>({
    mutationFn: change,
    onSuccess: () => renew(client, paths),
  });
}

export function renew(client: QueryClient, paths: string[]) {
  const is = (key: readonly unknown[]) => paths.some((path) => String(key[0]).startsWith(path));
  return client.invalidateQueries({ predicate: (query) => is(query.queryKey) });
}

/** Paths that may answer otherwise after an event. */
function touched(event: Event): string[] {
  if (event.resync) return ["/v1/"];
  if (event.job) return ["/v1/jobs", "/v1/pools"];
  if (event.service) return ["/v1/services", "/v1/service-policies", "/v1/replicas"];
  if (event.alert) return ["/v1/alerts"];
  if (event.pool) return ["/v1/pools", "/v1/datasets", "/v1/disks", "snapshots"];
  if (event.request) {
    const path = String((event.request as { path?: string }).path ?? "");
    const part = /^\/v1\/([a-z-]+)/.exec(path)?.[1] ?? "";
    const also: Record<string, string[]> = {
      snapshots: ["/v1/datasets", "snapshots"], datasets: ["/v1/shares", "snapshots"], clones: ["/v1/datasets"],
      imports: ["/v1/pools", "/v1/datasets"], unshares: ["/v1/shares"], login: ["/v1/users", "/v1/sessions"],
      "first-administrator": ["/v1/users"], "peer-join": ["/v1/peers"], "file-restores": ["files"],
    };
    return [`/v1/${part}`, "/v1/audit", ...(also[part] ?? [])];
  }
  return [];
}

const OFTEN = 1000;

/** Follows events while somebody is in, and has what they touch read anew. */
export function useLive(isIn: boolean) {
  const client = useQueryClient();
  useEffect(() => {
    if (!isIn) return undefined;
    let paths = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const take = (event: Event) => {
      touched(event).forEach((path) => paths.add(path));
      timer ??= setTimeout(() => {
        timer = undefined;
        void renew(client, [...paths]);
        paths = new Set();
      }, OFTEN);
    };
    const stop = onEvent(take);
    follow(() => true);
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [client, isIn]);
}

export const useLink = () => useSyncExternalStore(onLink, linkNow);
