import { describeScenarios } from '../fleet/faults/describe-scenarios.js';
import { scenarios } from '../fleet/faults/scenarios/index.js';

describeScenarios(scenarios.filter(({ length }) => length !== 'short'));
