// Preloaded into the suite: its scenario servers listen on every interface, these tests keep them on the loopback one.
import net from "node:net";

const listen = net.Server.prototype._listen2;
if (typeof listen !== "function") throw new Error("this Node has no net.Server _listen2: adapt loopback.mjs");

net.Server.prototype._listen2 = function (address, port, family, ...rest) {
	const tcp = typeof port === "number" && port >= 0;
	return tcp && !address
		? listen.call(this, "127.0.0.1", port, 4, ...rest)
		: listen.call(this, address, port, family, ...rest);
};
