import "./jitless";

export { AppBridge } from "@modelcontextprotocol/ext-apps/app-bridge";
