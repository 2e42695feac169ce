import { createStore } from "../store/store";

/** The waiting question that the person looks at; another one is shown when it does not wait any more. */
export const chosen = createStore<string | undefined>(undefined);
