/**
 * Who is signed in. Where a session ends while somebody works, the page stays as it is, with all that was typed, and a
 * dialog asks for the password (parts/again.tsx): what was being sent is sent then.
 */
import { createContext, use, useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { get, onExpired, post, Refusal, setCsrf, type Schemas } from "./client";

export type Me = Schemas["Me"];
type Role = NonNullable<Me["role"]>;

interface Session {
  /** `undefined`: not known yet; `null`: nobody. */
  me: Me | null | undefined;
  /** The session has ended while somebody was in. */
  isExpired: boolean;
  /** Why it is not known who is in. */
  failure: Refusal | undefined;
  begin: (me: Me) => void;
  end: () => Promise<void>;
  may: (role: Role) => boolean;
}

const RANKS: Role[] = ["read-only", "operator", "administrator"];
const Context = createContext<Session | null>(null);

export function useSession(): Session {
  const session = use(Context);
  if (!session) throw new Error("no session around");
  return session;
}

/** Who is in, below pages that only they see. */
export function useMe(): Me {
  const { me } = useSession();
  if (!me) throw new Error("nobody is in");
  return me;
}

export function SessionProvider({ children }: { children: ReactNode }) {
  const [me, setMe] = useState<Me | null | undefined>(undefined);
  const [isExpired, setExpired] = useState(false);
  const [failure, setFailure] = useState<Refusal>();
  /** Requests that wait for somebody to sign in. */
  const waiting = useRef<(() => void)[]>([]);
  const isIn = useRef(false);

  const begin = useCallback((next: Me) => {
    setCsrf(next.csrf ?? "");
    isIn.current = true;
    setMe(next);
    setExpired(false);
    waiting.current.splice(0).forEach((go) => go());
  }, []);

  const end = useCallback(async () => {
    isIn.current = false;
    await post("/v1/logout").finally(() => {
      setMe(null);
      location.hash = "#/";
      // What was read as that person is not to stay.
      location.reload();
    });
  }, []);

  useEffect(() => {
    onExpired(() => {
      if (!isIn.current) return Promise.reject(new Error("nobody was in"));
      setExpired(true);
      return new Promise((go) => waiting.current.push(go));
    });
    get("/v1/me").then(({ value }) => begin(value), (error: unknown) => {
      const isNobody = !(error instanceof Refusal) || error.kind === "unauthenticated";
      if (isNobody) setMe(null);
      else setFailure(error);
    });
  }, [begin]);

  const value = useMemo<Session>(() => {
    const may = (role: Role) => !!me?.role && RANKS.indexOf(me.role) >= RANKS.indexOf(role);
    return { me, isExpired, failure, begin, end, may };
  }, [me, isExpired, failure, begin, end]);
  return <Context value={value}>{children}</Context>;
}
