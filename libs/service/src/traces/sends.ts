/** The part of a log that is used. */
export interface WarningLog {
  warn(fields: object, message: string): void;
}

/** The result of an export, as the exporters of OpenTelemetry tell it; the code 0 is success. */
interface SendResult {
  code: number;
  error?: Error;
}

/** The exports of one exporter. */
export interface Sends {
  /** Notes an export that begins. Returns the function that takes its result, and passes it on. */
  begin(done: (result: SendResult) => void): (result: SendResult) => void;
  /** Ends the wait for exports in progress: their data are lost. */
  giveUp(): void;
}

let open = 0;

/**
 * Tells whether an export of this process is in progress. Its exporter then holds a connection, or a timer for its
 * next try, that nobody can end.
 */
export function isSending(): boolean {
  return open > 0;
}

/**
 * Watches the exports of one exporter. Logs one warning when they fail, or when they are given up, and another one
 * only after an export that did not fail.
 */
export function watchSends(log: WarningLog, warning: string): Sends {
  let inProgress = 0;
  let isAway = false;
  const warn = (reason: string | undefined) => {
    if (!isAway) log.warn({ reason }, warning);
    isAway = true;
  };
  return {
    begin(done) {
      inProgress += 1;
      open += 1;
      return (result) => {
        inProgress -= 1;
        open -= 1;
        if (result.code === 0) isAway = false;
        else warn(result.error?.message);
        done(result);
      };
    },
    giveUp() {
      if (inProgress > 0) warn('the receiver did not answer before the process stopped');
    },
  };
}
