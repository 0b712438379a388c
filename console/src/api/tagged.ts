/**
 * Changes of a dataset's properties that overwrite nothing unseen: each has the tag of when its form was opened. Where
 * somebody has changed the dataset meanwhile, nothing is sent, and the form shows what they have set.
 */
import { useEffect, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { get, post, Refusal, type Schemas } from "./client";
import { renew } from "./queries";
import { t } from "../words";

type Prop = Schemas["PropValue"];

export interface Tagged {
  /** The tag is there: it can be sent. */
  isReady: boolean;
  failure: unknown;
  /** What another has set the property to meanwhile. */
  theirs: Prop | undefined;
  set: (values: Record<string, string>) => Promise<void>;
  inherit: () => Promise<void>;
}

/** Of one property, which had this value when the form was opened. */
export function useTagged(dataset: string, property: string, was: string): Tagged {
  const path = { name: dataset };
  const client = useQueryClient();
  const [begun, setBegun] = useState<{ etag: string | undefined }>();
  const [theirs, setTheirs] = useState<Prop>();
  const [failure, setFailure] = useState<unknown>();
  // The tag is of when the form was opened, and not of when something was read before.
  useEffect(() => {
    get("/v1/datasets/{name}/properties", { path: { name: dataset } }).then((now) => setBegun({ etag: now.etag }), setFailure);
  }, [dataset]);
  const send = async (change: () => Promise<unknown>) => {
    try {
      await change();
      void renew(client, ["/v1/datasets", "/v1/shares", "/v1/iscsi"]);
    } catch (error) {
      if (!(error instanceof Refusal) || error.kind !== "precondition-failed") throw error;
      const now = await get("/v1/datasets/{name}/properties", { path });
      setBegun({ etag: now.etag });
      const other = now.value.props.find(({ name }) => name === property);
      if (other && other.value !== was) setTheirs(other);
      throw new Error(t("Somebody changed this dataset while you were typing. Look at it below, then save again, or cancel."));
    }
  };
  const ifMatch = begun?.etag;
  return {
    isReady: !!begun, failure, theirs,
    set: (values) => {
      const props = Object.entries(values).map(([name, value]) => ({ name, value }));
      const history = `zfs set ${props.map(({ name, value }) => `${name}=${value}`).join(" ")} ${dataset}`;
      return send(() => post("/v1/datasets/{name}/properties", { path, ifMatch, body: { props, history } as never }));
    },
    inherit: () => send(() => post("/v1/datasets/{name}/inherit", { path, ifMatch, body: { property, received: false, history: `zfs inherit ${property} ${dataset}` } })),
  };
}
