import { config } from "zod/v4";

// The bridge checks messages with zod, which would otherwise try to compile its checks from text. The page's policy
// forbids that, and each try would leave a violation in the console. Imported before whatever makes a schema.
config({ jitless: true });
