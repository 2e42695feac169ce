export type { AppViewProps } from "./view";
export { AppView } from "./view";
