import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { cache } from "./api/queries";
import { SessionProvider } from "./api/session";
import { showTheme } from "./parts/theme";

showTheme();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={cache}>
      <SessionProvider><App /></SessionProvider>
    </QueryClientProvider>
  </StrictMode>,
);
