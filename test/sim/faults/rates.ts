/** The probabilities of small faults, for each message and each call. */
export interface Rates {
  /** A message or a call takes up to `slowMs`. */
  slowMessage: number;
  slowMs: number;
  /** The broker carries a request out, and its acknowledgement is lost: the request is sent again. */
  lostAck: number;
  /** A call of the store is lost before the store carries it out, and is made again. */
  lostCall: number;
  /** The store carries a call out, and its reply is lost: the call is made again. */
  lostReply: number;
  /** A call of the store gets no answer in five seconds. It may have been carried out. */
  failedCall: number;
}

export const noRates: Rates = {
  ...{ slowMessage: 0, slowMs: 200 },
  ...{ lostAck: 0, lostCall: 0, lostReply: 0, failedCall: 0 },
};
