import { describe } from 'vitest';
import { type OpenBroker, brokerTest } from '../support/broker/broker-bed.js';
import { setAsideContract } from './set-aside.contract.js';
import { cancelContract } from './cancel.contract.js';
import { claimContract } from './claim.contract.js';
import { claimRepeatContract } from './claim-repeat.contract.js';
import { eventLogContract } from './event-log.contract.js';
import { changeContract } from './change.contract.js';
import { debounceContract } from './debounce.contract.js';
import { deadLettersContract } from './dead-letters.contract.js';
import { extendContract } from './extend.contract.js';
import { fleetContract } from './fleet.contract.js';
import { historyContract } from './history.contract.js';
import { inspectContract } from './inspect.contract.js';
import { pauseContract } from './pause.contract.js';
import { peekContract } from './peek.contract.js';
import { publishContract } from './publish.contract.js';
import { publishDuplicateContract } from './publish-duplicate.contract.js';
import { replicasContract } from './replicas.contract.js';
import { repeatContract } from './repeat.contract.js';
import { rescheduleContract } from './reschedule.contract.js';
import { settleContract } from './settle.contract.js';
import { settleReceiptContract } from './settle-receipt.contract.js';
import { signalContract } from './signal.contract.js';
import { topicsContract } from './topics.contract.js';
import { trimDeadContract } from './trim-dead.contract.js';

/** What every broker has to do, whatever it keeps its messages in. */
export function describeBroker(name: string, openBroker: OpenBroker): void {
  describe(`the contract of a broker: ${name}`, () => {
    const it = brokerTest(openBroker);
    publishContract(it);
    publishDuplicateContract(it);
    debounceContract(it);
    claimContract(it);
    claimRepeatContract(it);
    settleContract(it);
    settleReceiptContract(it);
    replicasContract(it);
    repeatContract(it);
    extendContract(it);
    cancelContract(it);
    rescheduleContract(it);
    inspectContract(it);
    trimDeadContract(it);
    deadLettersContract(it);
    historyContract(it);
    signalContract(it);
    fleetContract(it);
    eventLogContract(it);
    topicsContract(it);
    pauseContract(it);
    changeContract(it);
    peekContract(it);
    setAsideContract(it);
  });
}
