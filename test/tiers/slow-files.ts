/** The files of `npm test` that may take more than 20 s on a quiet machine of two cores, with the reason. */
export const slowFiles: Readonly<Record<string, string>> = {
  'test/sim/crash-points.test.ts': 'kills every process at every operation of the short scenarios',
  'test/sim/long-crash-points.test.ts': 'kills every process at every operation of the longer scenarios',
  'test/sim/http-crash-points.test.ts': 'kills every process at every operation beside gateways of HTTP',
  'test/sim/random-histories.test.ts': '300 random histories',
  'test/sim/sabotages.test.ts': 'searches a history for each of eighteen sabotages',
  'test/conformance/conformance.test.ts': 'each scenario on ADK, in one process and on a mesh of processes',
  'test/chaos/chaos.test.ts': '60 runs on real servers under all faults',
  'test/browser/console.test.ts': 'every view of the console in Chromium',
  'test/browser/web-ui.test.ts': 'every view of the web UI of ADK in Chromium',
  'test/browser/chat.test.ts': 'a conversation with files and approvals in Chromium',
  'libs/bus/src/nats/nats.int.test.ts': 'the contract of the bus waits for real ack waits and heartbeats',
  'test/scenarios/privacy.test.ts': 'deletes users beside their runs, also by commands that are killed',
};
