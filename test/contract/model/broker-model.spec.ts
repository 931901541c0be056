import { describeModel } from './describe-model.js';

describeModel(10);
